// Small floats of any shape without a scale; every code is finite.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/minifloat_head.h"
#include "formats/scale.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::optional<ElementParams> element = minifloat_head(text, "minifloat_e");
  if (!element) return false;
  out.codec = &minifloat_codec;
  out.element = *element;
  out.element.bias = read_options(text, {OptionKey::bias}).bias.value_or(element->bias);
  out.scale_kind = &no_scale;
  // The smallest value is 2^(1-bias-M), the largest lies below 2^(2^E-bias).
  check_exact(text, out.element.bias, (1 << element->exponent_bits) - 1 - 127, 150 - element->mantissa_bits);
  return true;
}

std::string print(const Format& format) {
  const ElementParams& p = format.element;
  return fmt::format("minifloat_e{}m{}{}", p.exponent_bits, p.mantissa_bits,
                     bias_suffix(p.bias, minifloat_element(p.exponent_bits, p.mantissa_bits).bias));
}

}  // namespace

extern constinit const FormatDef minifloat_def{
    .name = "minifloat_e<E>m<M>",
    .doc = "Sign, E exponent bits, M mantissa bits, subnormals, no infinity or NaN; bias<B> moves the range.",
    .examples =
        "minifloat_e4m3 minifloat_e3m4 minifloat_e5m2 minifloat_e2m1 minifloat_e3m2.bias5 minifloat_e5m10 "
        "minifloat_e7m2",
    .parse = parse,
    .print = print};

}  // namespace hone
