// Eight neighbours share a power of two; an element is two's complement with W-2 fraction bits, as in mxint<W>.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr Geometry kDefault{.kind = Geometry::Kind::group, .columns = 8};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::optional<int> width = text.width_after("octet");
  if (!width) return false;
  text.check_width("the width", *width, 2, 8);
  const FormatOptions options = read_options(text, {OptionKey::g, OptionKey::ax});
  out.codec = &int_codec;
  out.element = int_element(*width, *width - 2, /*symmetric=*/true);
  out.scale_kind = &pow2_scale;
  out.scale = pow2_scale_params(8, ScaleRule::floor);
  out.geometry = resolve_geometry(text, options, kDefault);
  return true;
}

std::string print(const Format& format) {
  return fmt::format("octet{}{}", format.element.bits, geometry_suffix(format.geometry, kDefault));
}

}  // namespace

extern constinit const FormatDef octet_def{.name = "octet<W>",
                                          .doc = "Integers of which eight share a power-of-two scale.",
                                          .examples = "octet8 octet4 octet3.ax0 octet2.g16",
                                          .parse = parse,
                                          .print = print};

}  // namespace hone
