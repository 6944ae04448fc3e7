// Small floats with subnormals: sign, E exponent bits, M mantissa bits (docs/FORMATS.md, section 5.1).
// The magnitude is rounded as an integer multiple of its binade's step, so that subnormals, the carry into the next
// binade and, for fp16 and bf16, overflow to infinity need no special case: codes of magnitudes are consecutive.
#include <cmath>

#include "formats/codecs.h"

namespace hone {
namespace {

using Top = ElementParams::Top;

uint32_t all_ones(const ElementParams& p) { return (1u << (p.exponent_bits + p.mantissa_bits)) - 1; }
uint32_t infinity_code(const ElementParams& p) { return ((1u << p.exponent_bits) - 1) << p.mantissa_bits; }

uint32_t largest_code(const ElementParams& p) {
  switch (p.top) {
    case Top::finite:
      return all_ones(p);
    case Top::fn:
      return all_ones(p) - 1;
    case Top::ieee:
      return infinity_code(p) - 1;
  }
  CHECK(false);
}

double largest(const ElementParams& p) {
  const uint32_t code = largest_code(p), fraction = code & ((1u << p.mantissa_bits) - 1);
  return std::ldexp(1 + std::ldexp(fraction, -p.mantissa_bits), static_cast<int>(code >> p.mantissa_bits) - p.bias);
}

// What NaN becomes, without its sign: a quiet NaN, or 0 in formats that have none.
uint32_t nan_code(const ElementParams& p) {
  switch (p.top) {
    case Top::finite:
      return 0;
    case Top::fn:
      return all_ones(p);
    case Top::ieee:
      return infinity_code(p) | 1u << (p.mantissa_bits - 1);
  }
  CHECK(false);
}

Expr u32(uint32_t value) { return Expr::constant(Scalar::u32, value); }

Expr encode(const ElementParams& p, Expr x) {
  const int m = p.mantissa_bits;
  // One binade past the largest value rounds to the code after it, which is infinity where overflow is not saturated.
  const double limit = p.saturate ? largest(p) : std::ldexp(1.0, std::ilogb(largest(p)) + 1);
  const Expr magnitude = min(abs(x), limit);
  const Expr exponent = max((bitcast(Scalar::i64, magnitude) >> 52) - 1023, 1 - p.bias);
  const Expr steps =
      rint(magnitude * bitcast(Scalar::f64, (1023 + m - exponent) << 52));  // magnitude * 2^(M - exponent)
  const Expr code = cast(Scalar::u32, ((exponent + (p.bias - 1)) << m) + cast(Scalar::i64, steps));
  const Expr sign = cast(Scalar::u32, bitcast(Scalar::u64, x) >> 63) << (p.bits - 1);
  const Expr is_nan = x != x;
  if (p.top == Top::finite) return select(is_nan, u32(0), code | sign);
  return select(is_nan, u32(nan_code(p)), code) | sign;
}

Expr decode(const ElementParams& p, Expr code) {
  const int m = p.mantissa_bits;
  const Expr magnitude = code & u32(all_ones(p));
  const Expr exponent = cast(Scalar::u64, magnitude >> m);
  const Expr fraction = cast(Scalar::u64, code & u32((1u << m) - 1));
  const Expr normal = ((exponent + (1023 - p.bias)) << 52) | (fraction << (52 - m));
  const Expr subnormal = bitcast(Scalar::u64, cast(Scalar::f64, fraction) * std::ldexp(1.0, 1 - p.bias - m));
  Expr bits = select(exponent == 0, subnormal, normal);
  const Expr infinity = Expr::constant(Scalar::u64, uint64_t{0x7ff} << 52);
  const Expr nan = Expr::constant(Scalar::u64, uint64_t{0xfff} << 51);  // quiet
  if (p.top == Top::fn) bits = select(magnitude == u32(all_ones(p)), nan, bits);
  if (p.top == Top::ieee) {
    bits = select(magnitude == u32(infinity_code(p)), infinity, bits);
    bits = select(u32(infinity_code(p)) < magnitude, nan, bits);
  }
  const Expr sign = cast(Scalar::u64, code >> (p.bits - 1)) << 63;
  return bitcast(Scalar::f64, bits | sign);
}

}  // namespace

extern constinit const ElementCodec minifloat_codec{
    .name = "minifloat",
    .encode = encode,
    .decode = decode,
    .max = largest,
    .fraction_bits_on_top = [](const ElementParams& p) { return p.mantissa_bits; }};

ElementParams minifloat_element(int exponent_bits, int mantissa_bits, Top top) {
  return {.bits = 1 + exponent_bits + mantissa_bits,
          .exponent_bits = exponent_bits,
          .mantissa_bits = mantissa_bits,
          .bias = (1 << (exponent_bits - 1)) - 1,
          .top = top};
}

}  // namespace hone
