#include "tests/support/ptx/numbers.h"

#include <algorithm>

namespace hone::ptx {
namespace {

// `value` is the nearest to value + error.
double to_odd(double value, double error) {
  if (error == 0 || !std::isfinite(value) || std::bit_cast<uint64_t>(value) & 1) return value;
  return std::nextafter(value, error > 0 ? INFINITY : -INFINITY);
}

// Of a non-negative number below 2^53: to an integer.
uint64_t to_integer(double magnitude, bool negative, Rounding rounding) {
  const double whole = std::floor(magnitude), rest = magnitude - whole;
  const auto n = static_cast<uint64_t>(whole);
  switch (rounding) {
    case Rounding::nearest_even:
      return n + (rest > 0.5 || (rest == 0.5 && n % 2));
    case Rounding::nearest_away:
      return n + (rest >= 0.5);
    case Rounding::zero:
      return n;
    case Rounding::down:
      return n + (negative && rest > 0);
    case Rounding::up:
      return n + (!negative && rest > 0);
  }
  return n;
}

// The code of a float of so many bits: sign, exponent, mantissa.
uint16_t short_float(double value, int exponent_bits, int mantissa_bits, Rounding rounding) {
  const bool negative = std::signbit(value);
  const auto sign = static_cast<uint16_t>(negative << 15);
  if (std::isnan(value)) return 0x7fff;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  if (value == 0) return sign;
  int exponent;
  std::frexp(value, &exponent);
  const int least = 2 - (1 << (exponent_bits - 1)), e = std::max(exponent - 1, least);
  const bool inwards = rounding == Rounding::zero || rounding == (negative ? Rounding::up : Rounding::down);
  const uint64_t largest = inwards ? infinity - 1 : infinity;  // of what lies beyond all finite numbers
  if (e > 1 - least) return static_cast<uint16_t>(sign | largest);
  const uint64_t n = to_integer(std::ldexp(std::fabs(value), mantissa_bits - e), negative, rounding);
  const uint64_t code = n + (static_cast<uint64_t>(e - least) << mantissa_bits);
  return static_cast<uint16_t>(sign | std::min(code, largest));
}

}  // namespace

double odd_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return to_odd(sum, (a - (sum - part)) + (b - part));
}

double odd_quotient(double a, double b) {
  const double q = a / b;
  if (!std::isfinite(q) || q == 0) return q;
  const double rest = std::fma(-q, b, a);  // has the sign of what q lacks, times b's
  return to_odd(q, b < 0 ? -rest : rest);
}

double odd_root(double a) {
  const double root = std::sqrt(a);
  return root > 0 && std::isfinite(root) ? to_odd(root, std::fma(-root, root, a)) : root;
}

template <>
float rounded<float>(double value, Rounding rounding) {
  if (std::isnan(value)) return std::bit_cast<float>(0x7fffffffu);
  const auto f = static_cast<float>(value);
  switch (rounding) {
    case Rounding::zero:
      return std::fabs(f) > std::fabs(value) ? std::nextafter(f, 0.0f) : f;
    case Rounding::down:
      return f > value ? std::nextafter(f, -INFINITY) : f;
    case Rounding::up:
      return f < value ? std::nextafter(f, INFINITY) : f;
    case Rounding::nearest_even:
    case Rounding::nearest_away:
      break;
  }
  return f;
}
template <>
Half rounded<Half>(double value, Rounding rounding) {
  return {short_float(value, 5, 10, rounding)};
}
template <>
Bfloat rounded<Bfloat>(double value, Rounding rounding) {
  return {short_float(value, 8, 7, rounding)};
}

double integral(double value, Rounding rounding) {
  if (!(std::fabs(value) < 0x1p52)) return value;  // an integer already, or none
  const bool negative = std::signbit(value);
  return std::copysign(static_cast<double>(to_integer(std::fabs(value), negative, rounding)), value);
}

}  // namespace hone::ptx
