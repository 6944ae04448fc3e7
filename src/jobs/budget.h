// What a choice of formats may take, or lose.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

struct Budget {
  enum class Kind : uint8_t { average_bits, bytes, latency, drop } kind = Kind::average_bits;
  double value = 0;          // bits; bytes; milliseconds; of a drop, MaxDrop::value
  bool is_relative = false;  // latency: `value` is a share of the original's time; drop: MaxDrop::percent
};
// "avg-bits=4.5", "bytes=12MB" (B, kB, MB, GB, KiB, MiB, GiB), "latency=0.7x" (of the original's), "latency=12ms" or
// "drop=0.5%" (max_drop.h: as few bits as lose no more of the metric).
// Throws Error.
Budget parse_budget(const std::string& text);
std::string to_string(const Budget& budget);

}  // namespace hone
