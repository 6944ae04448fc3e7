// OCP MX 1.0 floats: 32 elements of FP8, FP6 or FP4 share a power of two. E5M2 elements never encode infinity.
#include <algorithm>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

using Top = ElementParams::Top;

struct Element {
  std::string_view head;
  int exponent_bits, mantissa_bits;
  Top top;
};
constexpr Element kElements[] = {{"mxfp8_e4m3", 4, 3, Top::fn},
                                 {"mxfp8_e5m2", 5, 2, Top::ieee},
                                 {"mxfp6_e2m3", 2, 3, Top::finite},
                                 {"mxfp6_e3m2", 3, 2, Top::finite},
                                 {"mxfp4", 2, 1, Top::finite}};
constexpr Geometry kDefault{.kind = Geometry::Kind::group, .columns = 32};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  std::string_view head = text.sound_head();
  if (head == "mxfp8") text.fail_at("E_AMBIG", 0, "write mxfp8_e4m3 or mxfp8_e5m2");
  if (head == "mxfp6") text.fail_at("E_AMBIG", 0, "write mxfp6_e2m3 or mxfp6_e3m2");
  if (head == "mxfp4_e2m1") head = "mxfp4";
  const Element* element = std::ranges::find(kElements, head, &Element::head);
  if (element == std::end(kElements)) return false;
  const FormatOptions options = read_options(text, {OptionKey::g, OptionKey::ax, OptionKey::rule});
  out.codec = &minifloat_codec;
  out.element = minifloat_element(element->exponent_bits, element->mantissa_bits, element->top);
  out.scale_kind = &pow2_scale;
  out.scale = pow2_scale_params(8, options.rule.value_or(ScaleRule::floor));
  out.geometry = resolve_geometry(text, options, kDefault);
  return true;
}

std::string print(const Format& format) {
  const auto same = [&](const Element& e) {
    return e.exponent_bits == format.element.exponent_bits && e.mantissa_bits == format.element.mantissa_bits;
  };
  const Element* element = std::ranges::find_if(kElements, same);
  CHECK(element != std::end(kElements));
  return std::string(element->head) + geometry_suffix(format.geometry, kDefault) + rule_suffix(format.scale.rule);
}

}  // namespace

extern constinit const FormatDef mxfp_def{
    .name = "mxfp8_e4m3 mxfp8_e5m2 mxfp6_e2m3 mxfp6_e3m2 mxfp4",
    .doc = "OCP microscaling floats: groups of 32 share a power-of-two scale (E8M0).",
    .examples =
        "mxfp8_e4m3 mxfp8_e5m2 mxfp6_e2m3 mxfp6_e3m2 mxfp4 mxfp4.g16 mxfp4.ax0 mxfp8_e4m3.rule=rceil "
        "mxfp4.rule=even mxfp4.rule=mse",
    .parse = parse,
    .print = print};

}  // namespace hone
