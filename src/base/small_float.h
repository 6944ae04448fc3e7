// Floating-point types of eight bits and less, as ONNX and the OCP name them, one code per byte.
#pragma once

#include <cstdint>

namespace hone {

struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  // What the codes beyond the finite numbers mean: `ieee` has infinities and NaNs in the largest exponent; `nan_only`
  // has one NaN of either sign, all bits set; `unsigned_zero` has one NaN, where -0 would be; `finite` has none.
  enum class Specials : uint8_t { ieee, nan_only, unsigned_zero, finite } specials;
};
constexpr SmallFloat kF8e4m3fn{4, 3, 7, SmallFloat::Specials::nan_only};
constexpr SmallFloat kF8e4m3fnuz{4, 3, 8, SmallFloat::Specials::unsigned_zero};
constexpr SmallFloat kF8e5m2{5, 2, 15, SmallFloat::Specials::ieee};
constexpr SmallFloat kF8e5m2fnuz{5, 2, 16, SmallFloat::Specials::unsigned_zero};
constexpr SmallFloat kF4e2m1{2, 1, 1, SmallFloat::Specials::finite};

float largest_finite(const SmallFloat& type);
float decode_small_float(const SmallFloat& type, uint8_t code);

// Nearest, ties to even. Beyond the largest number: that number when `saturate`, else infinity, or NaN where the type
// has no infinity. NaN stays NaN, and is -0 in a type without one.
uint8_t encode_small_float(const SmallFloat& type, float value, bool saturate = true);

}  // namespace hone
