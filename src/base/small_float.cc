#include "base/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

using Specials = SmallFloat::Specials;
constexpr uint8_t kPowerNan = 255;

uint8_t sign_bit(const SmallFloat& t) { return static_cast<uint8_t>(1 << (t.exponent_bits + t.mantissa_bits)); }
uint8_t all_magnitude_bits(const SmallFloat& t) { return static_cast<uint8_t>(sign_bit(t) - 1); }
uint8_t infinity_code(const SmallFloat& t) {  // of ieee types
  return static_cast<uint8_t>(all_magnitude_bits(t) & ~((1 << t.mantissa_bits) - 1));
}

uint8_t largest_code(const SmallFloat& t) {
  if (t.specials == Specials::powers) return kPowerNan - 1;
  if (t.specials == Specials::ieee) return static_cast<uint8_t>(infinity_code(t) - 1);
  return static_cast<uint8_t>(all_magnitude_bits(t) - (t.specials == Specials::nan_only ? 1 : 0));
}

uint8_t nan_code(const SmallFloat& t, uint8_t sign) {
  if (t.specials == Specials::unsigned_zero || t.specials == Specials::finite) return sign_bit(t);
  return static_cast<uint8_t>(sign | all_magnitude_bits(t));
}

float magnitude(const SmallFloat& t, int code) {
  const int mantissa = code & ((1 << t.mantissa_bits) - 1), exponent = code >> t.mantissa_bits;
  const int implied = exponent > 0 ? 1 << t.mantissa_bits : 0;
  return std::ldexp(static_cast<float>(implied + mantissa), std::max(exponent, 1) - t.bias - t.mantissa_bits);
}

}  // namespace

float largest_finite(const SmallFloat& type) {
  return type.specials == Specials::powers ? decode_small_float(type, largest_code(type))
                                           : magnitude(type, largest_code(type));
}

float decode_small_float(const SmallFloat& type, uint8_t code) {
  if (type.specials == Specials::powers)
    return code == kPowerNan ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, code - type.bias);
  const bool negative = code & sign_bit(type);
  const uint8_t bits = code & all_magnitude_bits(type);
  if (type.specials == Specials::unsigned_zero && negative && bits == 0) return std::numeric_limits<float>::quiet_NaN();
  float value = magnitude(type, bits);
  if (bits > largest_code(type))
    value = type.specials == Specials::ieee && bits == infinity_code(type) ? std::numeric_limits<float>::infinity()
                                                                           : std::numeric_limits<float>::quiet_NaN();
  return negative ? -value : value;
}

uint8_t encode_power_of_two(float value, PowerRounding rounding, bool saturate) {
  if (std::isnan(value) || value < 0) return kPowerNan;
  const uint8_t largest = saturate ? largest_code(kF8e8m0) : kPowerNan, smallest = saturate ? 0 : kPowerNan;
  if (std::isinf(value)) return largest;
  if (value == 0) return smallest;
  int above = 0;
  const float fraction = std::frexp(value, &above);  // value is in [2^(above-1), 2^above)
  const bool rounds_up = rounding == PowerRounding::up        ? fraction > 0.5f
                         : rounding == PowerRounding::nearest ? fraction >= 0.75f
                                                              : false;
  const int code = above - (rounds_up ? 0 : 1) + kF8e8m0.bias;
  return code < 0 ? smallest : code >= kPowerNan ? largest : static_cast<uint8_t>(code);
}

uint8_t encode_small_float(const SmallFloat& type, float value, bool saturate) {
  if (type.specials == Specials::powers) return encode_power_of_two(value, PowerRounding::nearest, saturate);
  const uint8_t sign = std::signbit(value) ? sign_bit(type) : 0;
  if (std::isnan(value)) return nan_code(type, sign);
  const float size = std::fabs(value);
  int exponent = 0;
  std::frexp(size, &exponent);  // size is in [2^(exponent-1), 2^exponent)
  const int step_exponent = std::max(exponent - 1, 1 - type.bias) - type.mantissa_bits;
  const float rounded =
      std::isinf(size) ? size : std::ldexp(std::nearbyint(std::ldexp(size, -step_exponent)), step_exponent);
  if (rounded > largest_finite(type)) {
    if (saturate || type.specials == Specials::finite) return static_cast<uint8_t>(sign | largest_code(type));
    return type.specials == Specials::ieee ? static_cast<uint8_t>(sign | infinity_code(type)) : nan_code(type, sign);
  }
  int code = 0;  // magnitudes rise with their codes
  for (int bit = type.exponent_bits + type.mantissa_bits - 1; bit >= 0; --bit)
    if (const int tried = code | 1 << bit; tried <= largest_code(type) && magnitude(type, tried) <= rounded)
      code = tried;
  const bool signless_zero = type.specials == Specials::unsigned_zero && code == 0;
  return static_cast<uint8_t>(code | (signless_zero ? 0 : sign));
}

}  // namespace hone
