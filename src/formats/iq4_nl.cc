// 4-bit codes that stand for 16 integers which lie closer to each other near zero (llama.cpp, IQ4_NL): closer to the
// distribution of weights than even steps. The scale has either sign, since the table reaches further below zero.
#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr int8_t kValues[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr Geometry kDefault{.kind = Geometry::Kind::group, .columns = 32};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() != "iq4_nl") return false;
  using enum OptionKey;
  const FormatOptions options = read_options(text, {tensor, channel, g, ax, s, m});
  if (options.minimum_type)
    text.fail_at("E_CONFLICT", text.position_of(m), "the table reaches to both sides of zero; drop 'm'");
  out.codec = &table_codec;
  out.element = table_element(kValues);
  out.scale_kind = is_two_level(options.scale_type) ? &two_level_scale : &f32_signed_scale;
  out.scale = f32_scale_params(options.scale_type);
  out.geometry = resolve_geometry(text, options, kDefault);
  check_scale_types(text, options, out);
  return true;
}

}  // namespace

extern constinit const FormatDef iq4_nl_def{
    .name = "iq4_nl",
    .doc = "4-bit codes of a table of 16 integers that lie closer near zero, with a scale per group of 32.",
    .examples = "iq4_nl iq4_nl.s=fp16 iq4_nl.s=i6 iq4_nl.channel",
    .parse = parse,
    .print = [](const Format& format) {
      return "iq4_nl" + geometry_suffix(format.geometry, kDefault) + scale_type_suffix(format.scale.type);
    }};

}  // namespace hone
