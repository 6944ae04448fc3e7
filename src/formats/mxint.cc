// OCP MX 1.0 integers: 32 elements share a power of two; an element is two's complement with W-2 fraction bits, so that
// the largest magnitude lies just below 2. MXINT8 is the standard's; other widths follow the same rule.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr Geometry kDefault{.kind = Geometry::Kind::group, .columns = 32};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() == "mxint") text.fail_at("E_AMBIG", 0, "the width is missing; write mxint8");
  const std::optional<int> width = text.width_after("mxint");
  if (!width) return false;
  text.check_width("the width", *width, 2, 8);
  const FormatOptions options = read_options(text, {OptionKey::g, OptionKey::ax, OptionKey::rule});
  out.codec = &int_codec;
  out.element = int_element(*width, *width - 2, /*symmetric=*/true);
  out.scale_kind = &pow2_scale;
  out.scale = pow2_scale_params(8, options.rule.value_or(ScaleRule::floor));
  out.geometry = resolve_geometry(text, options, kDefault);
  return true;
}

std::string print(const Format& format) {
  return fmt::format("mxint{}{}{}", format.element.bits, geometry_suffix(format.geometry, kDefault),
                     rule_suffix(format.scale.rule));
}

}  // namespace

extern constinit const FormatDef mxint_def{
    .name = "mxint<W>",
    .doc = "OCP microscaling integers: groups of 32 share a power-of-two scale (E8M0).",
    .examples = "mxint8 mxint6 mxint4 mxint2 mxint8.g16 mxint8.ax0 mxint8.rule=rceil mxint8.rule=even mxint4.rule=mse",
    .parse = parse,
    .print = print};

}  // namespace hone
