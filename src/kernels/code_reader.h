// Reads runs of W-bit codes from a packed plane (docs/FORMATS.md, section 3.5: one little-endian bit stream a line).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hone {

// out[i] = code in bits [first_bit + i * bits, ...), i < out.size(). No byte behind the last code is read.
void read_codes(std::span<const std::byte> plane, int64_t first_bit, int bits, std::span<uint8_t> out);   // bits <= 8
void read_codes(std::span<const std::byte> plane, int64_t first_bit, int bits, std::span<uint32_t> out);  // bits <= 32

}  // namespace hone
