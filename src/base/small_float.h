// Floating-point types of eight bits and less, as ONNX and the OCP name them, one code per byte.
#pragma once

#include <cstdint>

namespace hone {

struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  // What the codes beyond the finite numbers mean: `ieee` has infinities and NaNs in the largest exponent; `nan_only`
  // has one NaN of either sign, all bits set; `unsigned_zero` has one NaN, where -0 would be; `finite` has none. In
  // `powers` a code is an exponent of two and nothing else: no sign, no zero; all bits set is NaN.
  enum class Specials : uint8_t { ieee, nan_only, unsigned_zero, finite, powers } specials;
};
constexpr SmallFloat kF8e4m3fn{4, 3, 7, SmallFloat::Specials::nan_only};
constexpr SmallFloat kF8e4m3fnuz{4, 3, 8, SmallFloat::Specials::unsigned_zero};
constexpr SmallFloat kF8e5m2{5, 2, 15, SmallFloat::Specials::ieee};
constexpr SmallFloat kF8e5m2fnuz{5, 2, 16, SmallFloat::Specials::unsigned_zero};
constexpr SmallFloat kF4e2m1{2, 1, 1, SmallFloat::Specials::finite};
constexpr SmallFloat kF8e8m0{8, 0, 127, SmallFloat::Specials::powers};
constexpr SmallFloat kF6e2m3{2, 3, 1, SmallFloat::Specials::finite};
constexpr SmallFloat kF6e3m2{3, 2, 3, SmallFloat::Specials::finite};

float largest_finite(const SmallFloat& type);
float decode_small_float(const SmallFloat& type, uint8_t code);

// Nearest, ties to even. Beyond the largest number: that number when `saturate`, else infinity, or NaN where the type
// has no infinity. NaN stays NaN, and is -0 in a type without one. To powers of two as encode_power_of_two does, to the
// nearest.
uint8_t encode_small_float(const SmallFloat& type, float value, bool saturate = true);

// In kF8e8m0: the power of two nearest to `value` (of two as near, the larger), the next above or the next below. What
// lies outside [2^-127, 2^127], zero included, is the nearer end when `saturate`, else NaN; negative numbers are NaN.
enum class PowerRounding : uint8_t { nearest, up, down };
uint8_t encode_power_of_two(float value, PowerRounding rounding = PowerRounding::nearest, bool saturate = true);

}  // namespace hone
