// Integers: q = round(x * 2^F) clamped to the code range. Every step is exact in f64 but the rounding.
#include <cmath>

#include "formats/codecs.h"

namespace hone {
namespace {

double highest(const ElementParams& p) { return std::ldexp(1.0, p.is_signed ? p.bits - 1 : p.bits) - 1; }

double lowest(const ElementParams& p) {
  if (!p.is_signed) return 0;
  return p.symmetric ? -highest(p) : -highest(p) - 1;
}

Expr encode(const ElementParams& p, Expr x) {
  const Expr scaled = x * std::ldexp(1.0, p.fraction_bits);
  const Expr rounded = p.round_floor ? floor(scaled) : rint(scaled);
  const Expr q = min(max(rounded, lowest(p)), highest(p));
  if (!p.is_signed) return cast(Scalar::u32, q);
  const Expr bits = bitcast(Scalar::u32, cast(Scalar::i32, q));
  return p.bits == 32 ? bits : bits & Expr::constant(Scalar::u32, (uint64_t{1} << p.bits) - 1);
}

Expr decode(const ElementParams& p, Expr code) {
  const int unused = 32 - p.bits;
  const Expr q =
      p.is_signed ? cast(Scalar::f64, (bitcast(Scalar::i32, code) << unused) >> unused) : cast(Scalar::f64, code);
  return q * std::ldexp(1.0, -p.fraction_bits);
}

}  // namespace

extern constinit const ElementCodec int_codec{
    .name = "int",
    .encode = encode,
    .decode = decode,
    .max = [](const ElementParams& p) { return std::ldexp(highest(p), -p.fraction_bits); },
    .fraction_bits_on_top = [](const ElementParams& p) { return p.is_signed ? p.bits - 2 : p.bits - 1; }};

ElementParams int_element(int bits, int fraction_bits, bool symmetric) {
  return {.bits = bits, .fraction_bits = fraction_bits, .symmetric = symmetric};
}

ElementParams uint_element(int bits, int fraction_bits) {
  return {.bits = bits, .fraction_bits = fraction_bits, .is_signed = false};
}

}  // namespace hone
