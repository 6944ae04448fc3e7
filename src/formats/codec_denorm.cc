// Small floats without a hidden bit: sign, E exponent bits, M mantissa bits, value f * 2^(e - bias - M)
// (docs/FORMATS.md, section 5.2). Several codes share a value; encoding gives the one with the smallest exponent.
#include <cmath>

#include "formats/codecs.h"

namespace hone {
namespace {

uint32_t all_ones(const ElementParams& p) { return (1u << (p.exponent_bits + p.mantissa_bits)) - 1; }
int top_exponent_field(const ElementParams& p) { return (1 << p.exponent_bits) - 1; }

// 2^exponent of an i64 expression.
Expr power_of_two(Expr exponent) { return bitcast(Scalar::f64, (exponent + 1023) << 52); }

Expr encode(const ElementParams& p, Expr x) {
  const int m = p.mantissa_bits, top = top_exponent_field(p) - p.bias;
  const Expr magnitude = min(abs(x), std::ldexp(1.0, top + 1));  // any number beyond the largest gives all ones below
  const Expr binade = max((bitcast(Scalar::i64, magnitude) >> 52) - 1022, -p.bias);
  const Expr rounded = cast(Scalar::i64, rint(magnitude * power_of_two(m - binade)));
  const Expr carries = rounded == (1 << m);
  const Expr exponent = binade + cast(Scalar::i64, carries), steps = select(carries, 1 << (m - 1), rounded);
  const Expr code = cast(Scalar::u32, ((exponent + p.bias) << m) | steps);
  const Expr sign = cast(Scalar::u32, bitcast(Scalar::u64, x) >> 63) << (p.bits - 1);
  const Expr ones = Expr::constant(Scalar::u32, all_ones(p));
  return select(x != x, Expr::constant(Scalar::u32, 0), select(exponent > top, ones, code) | sign);
}

Expr decode(const ElementParams& p, Expr code) {
  const int m = p.mantissa_bits;
  const Expr fraction = code & Expr::constant(Scalar::u32, (1u << m) - 1);
  const Expr field = cast(Scalar::i64, (code >> m) & Expr::constant(Scalar::u32, uint64_t(top_exponent_field(p))));
  const Expr magnitude = cast(Scalar::f64, fraction) * power_of_two(field - (p.bias + m));
  return select((code >> (p.bits - 1)) != 0, -magnitude, magnitude);
}

}  // namespace

extern constinit const ElementCodec denorm_codec{
    .name = "denorm",
    .encode = encode,
    .decode = decode,
    .max =
        [](const ElementParams& p) {
          return std::ldexp(1 - std::ldexp(1.0, -p.mantissa_bits), top_exponent_field(p) - p.bias);
        },
    .fraction_bits_on_top = [](const ElementParams& p) { return p.mantissa_bits - 1; }};

}  // namespace hone
