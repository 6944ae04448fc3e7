// Numbers of PTX's types, rounded once in any of its directions. Sums and products that f64 does not hold exactly are
// rounded to odd there, from where a second rounding to a shorter type is as good as one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/float_bits.h"
#include "tests/support/ptx/module.h"

namespace hone::ptx {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
template <class T>
struct Pair {
  T low, high;
};

// As f16_to_f32, inline: the exponent is moved by a product, which subnormals take part in.
inline float wide_half(uint16_t bits) {
  const auto sign = uint32_t{bits} << 16 & 0x80000000u;
  const float scaled = std::bit_cast<float>((uint32_t{bits} & 0x7fff) << 13) * 0x1p112f;
  const uint32_t code = std::bit_cast<uint32_t>(scaled) | ((bits & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u);
  return std::bit_cast<float>(code | sign);
}

inline double wide(float v) { return v; }
inline double wide(Half v) { return wide_half(v.bits); }
inline double wide(Bfloat v) { return bf16_to_f32(v.bits); }

// Exact, or the neighbour whose last bit is set.
double odd_sum(double a, double b);
double odd_quotient(double a, double b);  // of factors of at most 24 bits
double odd_root(double a);

// NaN is the one that devices make: all bits but the sign.
template <class T>
T rounded(double value, Rounding rounding);
template <>
float rounded<float>(double value, Rounding rounding);
template <>
Half rounded<Half>(double value, Rounding rounding);
template <>
Bfloat rounded<Bfloat>(double value, Rounding rounding);

inline float canonical(float v) { return v == v ? v : std::bit_cast<float>(0x7fffffffu); }
inline Bfloat nearest_bfloat(float v) { return {v == v ? f32_to_bf16(v) : uint16_t{0x7fff}}; }
inline Half nearest_half(float v) { return {v == v ? f32_to_f16(v) : uint16_t{0x7fff}}; }

inline float flushed(float v) { return std::fabs(v) < std::numeric_limits<float>::min() ? std::copysign(0.0f, v) : v; }
inline float clamped(float v) { return v > 0 ? std::fmin(v, 1.0f) : 0.0f; }  // NaN: 0

// To an integer in the direction given, as f64.
double integral(double value, Rounding rounding);

}  // namespace hone::ptx
