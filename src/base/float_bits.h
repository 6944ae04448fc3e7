// Conversions between binary32 and the 16-bit floats, by bits, rounding to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace hone {

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Overflow gives infinity; NaN stays NaN (quiet, sign kept).
inline uint16_t f32_to_bf16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((u >> 16 & 0x8000) | 0x7fc0);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);  // as above: IEEE overflow to infinity, quiet NaN

}  // namespace hone
