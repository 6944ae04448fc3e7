// Signed powers of two and zero: code 0 is 0, code c >= 1 is 2^(c - bias). Rounding is in the log domain, so the
// threshold between 1 and 2 is sqrt 2, which no f32 equals (docs/FORMATS.md, section 5.5).
#include <cmath>
#include <numbers>

#include "formats/codecs.h"

namespace hone {
namespace {

int largest_exponent(const ElementParams& p) { return (1 << (p.bits - 1)) - 1 - p.bias; }

Expr encode(const ElementParams& p, Expr x) {
  const int lowest = 1 - p.bias;
  const Expr magnitude = abs(x), bits = bitcast(Scalar::i64, magnitude);
  const Expr fraction = bits & Expr::constant(Scalar::i64, (uint64_t{1} << 52) - 1);
  const Expr significand = bitcast(Scalar::f64, fraction | Expr::constant(Scalar::i64, uint64_t{1023} << 52));
  const Expr exponent = (bits >> 52) - 1023 + cast(Scalar::i64, significand > std::numbers::sqrt2);
  const Expr clamped = min(max(exponent, lowest), largest_exponent(p));
  // NaN is not above it either and becomes +0.
  const Expr is_zero = ~(magnitude > std::ldexp(1.0, lowest - 1));
  const Expr code = select(is_zero, Expr::constant(Scalar::u32, 0), cast(Scalar::u32, clamped + p.bias));
  const Expr sign = cast(Scalar::u32, bitcast(Scalar::u64, x) >> 63) << (p.bits - 1);
  return select(x != x, Expr::constant(Scalar::u32, 0), code | sign);
}

Expr decode(const ElementParams& p, Expr code) {
  const Expr c = code & Expr::constant(Scalar::u32, (1u << (p.bits - 1)) - 1);
  const Expr power = bitcast(Scalar::f64, (cast(Scalar::i64, c) + (1023 - p.bias)) << 52);
  const Expr magnitude = select(c == 0, 0, power);
  return select((code >> (p.bits - 1)) != 0, -magnitude, magnitude);
}

}  // namespace

extern constinit const ElementCodec log_codec{
    .name = "log",
    .encode = encode,
    .decode = decode,
    .max = [](const ElementParams& p) { return std::ldexp(1.0, largest_exponent(p)); },
    .fraction_bits_on_top = [](const ElementParams&) { return 0; }};

ElementParams log_element(int bits, int bias) { return {.bits = bits, .bias = bias}; }

}  // namespace hone
