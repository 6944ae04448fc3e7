// Counter-based random numbers: Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
// A value depends only on (key, counter), so results do not depend on threads or order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hone {

class Philox {
 public:
  explicit Philox(uint64_t key = 0, uint64_t stream = 0) : key_(key), stream_(stream) {}

  static std::array<uint32_t, 4> block(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
    std::array<uint32_t, 4> c{uint32_t(counter_low), uint32_t(counter_low >> 32), uint32_t(counter_high),
                              uint32_t(counter_high >> 32)};
    uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9, k1 += 0xbb67ae85) {
      const uint64_t p0 = uint64_t{0xd2511f53} * c[0], p1 = uint64_t{0xcd9e8d57} * c[2];
      c = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1, uint32_t(p0)};
    }
    return c;
  }

  uint32_t next() {
    if (used_ == 4) words_ = block(key_, counter_++, stream_), used_ = 0;
    return words_[used_++];
  }
  uint64_t next64() {
    const uint64_t high = next();
    return high << 32 | next();
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t{next()} * n >> 32); }  // 0 .. n-1
  double uniform() { return (next64() >> 11) * 0x1p-53; }                                   // [0, 1)
  float uniform(float low, float high) { return low + static_cast<float>(uniform()) * (high - low); }
  float normal() {  // Box-Muller
    const double u = 1 - uniform(), v = uniform();
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
  }

 private:
  uint64_t key_, stream_, counter_ = 0;
  std::array<uint32_t, 4> words_{};
  int used_ = 4;
};

}  // namespace hone
