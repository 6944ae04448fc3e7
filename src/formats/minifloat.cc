// Small floats of any shape without a scale; every code is finite.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

// Every code must be an f32 number: the smallest is 2^(1-bias-M), the largest below 2^(2^E-bias).
void check_exact(const FormatText& text, const ElementParams& p) {
  const int low = (1 << p.exponent_bits) - 1 - 127, high = 150 - p.mantissa_bits;
  if (p.bias >= low && p.bias <= high) return;
  text.fail_at("E_EXACT", text.position_of(OptionKey::bias),
               fmt::format("bias {} puts codes outside f32; it must be in {}..{}", p.bias, low, high));
}

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::optional<std::pair<int, int>> widths = text.exponent_mantissa_after("minifloat_e");
  if (!widths) return false;
  const auto [e, m] = *widths;
  text.check_width("the exponent width", e, 2, 7);
  text.check_width("the mantissa width", m, 1, 10);
  text.check_width("the total width 1+E+M", 1 + e + m, 4, 16);
  out.codec = &minifloat_codec;
  out.element = minifloat_element(e, m);
  out.element.bias = read_options(text, {OptionKey::bias}).bias.value_or(out.element.bias);
  out.scale_kind = &no_scale;
  check_exact(text, out.element);
  return true;
}

std::string print(const Format& format) {
  const ElementParams& p = format.element;
  const bool usual = p.bias == minifloat_element(p.exponent_bits, p.mantissa_bits).bias;
  return fmt::format("minifloat_e{}m{}{}", p.exponent_bits, p.mantissa_bits,
                     usual ? "" : fmt::format(".bias{}", p.bias));
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
