// Small floats without a hidden bit and without a scale: as wide a range as a minifloat, at half its precision.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/minifloat_head.h"
#include "formats/scale.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::optional<ElementParams> element = minifloat_head(text, "denorm_e");
  if (!element) return false;
  out.codec = &denorm_codec;
  out.element = *element;
  out.element.bias = read_options(text, {OptionKey::bias}).bias.value_or(element->bias);
  out.scale_kind = &no_scale;
  // The smallest value is 2^(-bias-M), the largest lies below 2^(2^E-1-bias).
  check_exact(text, out.element.bias, (1 << element->exponent_bits) - 1 - 127, 149 - element->mantissa_bits);
  return true;
}

std::string print(const Format& format) {
  const ElementParams& p = format.element;
  return fmt::format("denorm_e{}m{}{}", p.exponent_bits, p.mantissa_bits,
                     bias_suffix(p.bias, minifloat_element(p.exponent_bits, p.mantissa_bits).bias));
}

}  // namespace

extern constinit const FormatDef denorm_def{
    .name = "denorm_e<E>m<M>",
    .doc = "Sign, E exponent bits, M mantissa bits, no hidden bit; bias<B> moves the range.",
    .examples = "denorm_e4m3 denorm_e3m4 denorm_e3m1 denorm_e4m3.bias10",
    .parse = parse,
    .print = print};

}  // namespace hone
