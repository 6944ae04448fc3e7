// Integers with an f32 scale: symmetric (int), from zero up (uint), or with a zero point (uint, asym).
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/integer_head.h"
#include "formats/scale.h"

namespace hone {
namespace {

IntegerHead read_head(const FormatText& text, IntegerHead head) {
  text.check_width("the width", head.width, 2, 32);
  if (head.width > 16)
    text.fail_at("E_WIDTH", text.head.find_first_of("123456789"),
                 "the width must be in 2..16 without fraction bits; add 'f<F>' for fixed point");
  return head;
}

const ScaleKind* scale_kind_of(const FormatOptions& options) {
  const bool two_level = is_two_level(options.scale_type);
  if (options.minimum_type) return two_level ? &two_level_minimum_scale : &f32_minimum_scale;
  if (two_level) return &two_level_scale;
  return options.asym ? &f32_range_scale : &f32_max_scale;
}

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() == "int" || text.sound_head() == "uint")
    text.fail_at("E_AMBIG", 0, fmt::format("the width is missing; write {}8", text.head));
  const std::optional<IntegerHead> found = integer_head(text);
  if (!found || text.has(OptionKey::f)) return false;
  const IntegerHead head = read_head(text, *found);
  using enum OptionKey;
  const FormatOptions options = read_options(text, {tensor, channel, g, tile, ax, s, m, asym, round});
  if (options.round_floor)
    text.fail_at("E_CONFLICT", text.position_of(round), "'round' needs fraction bits; add 'f<F>' or drop it");
  if (options.asym && head.is_signed)
    text.fail_at("E_OPT", text.position_of(asym),
                 fmt::format("'asym' needs an unsigned head; write uint{}.asym", head.width));
  if (options.minimum_type && (options.asym || head.is_signed))
    text.fail_at("E_CONFLICT", text.position_of(m),
                 options.asym ? "'m' and 'asym' are two ways to move the range; keep one"
                              : fmt::format("'m' needs an unsigned head; write uint{}", head.width));
  out.codec = &int_codec;
  out.element = head.is_signed ? int_element(head.width, 0, /*symmetric=*/true) : uint_element(head.width, 0);
  out.scale_kind = scale_kind_of(options);
  out.scale = f32_scale_params(options.scale_type);
  out.geometry = resolve_geometry(text, options, tensor_geometry());
  check_scale_types(text, options, out);
  if (is_two_level(options.scale_type) && (options.asym || (!head.is_signed && !options.minimum_type)))
    text.fail_at("E_CONFLICT", text.position_of(s),
                 fmt::format("scales of {} belong to signed codes; write int{}", scale_type_name(options.scale_type),
                             head.width));
  return true;
}

std::string print(const Format& format) {
  const std::string minimum = has_minimum(format) ? fmt::format(".m={}", scale_type_name(format.scale.type)) : "";
  return fmt::format("{}int{}{}{}{}{}", format.element.is_signed ? "" : "u", format.element.bits,
                     geometry_suffix(format.geometry, tensor_geometry()), scale_type_suffix(format.scale.type), minimum,
                     format.scale_kind == &f32_range_scale ? ".asym" : "");
}

}  // namespace

extern constinit const FormatDef integer_def{
    .name = "int<W>",
    .doc =
        "W-bit integers with an f32 scale per tensor, channel, group or tile; uint<W> from zero up, asym with a zero "
        "point, m= with a minimum; s=i6, i8, u4, u6: scales that are multiples of one of 256 elements.",
    .examples =
        "int8 int8.channel int8.channel.ax1 int8.g32 int4.channel int4.g128 int4.g32 int3.g16 int16.channel "
        "int4.g2x8 int4.g32.s=bf16 int8.channel.s=fp16 uint8 uint8.asym uint4.g32.asym uint4.g32.s=fp16.asym "
        "uint12.channel.asym uint4.g32.s=fp16.m=fp16 uint5.g32.s=fp16.m=fp16 uint2.g16.s=u4.m=u4 uint4.g32.s=u6.m=u6 "
        "uint5.g32.s=u6.m=u6 int3.g16.s=i6 int6.g16.s=i8",
    .parse = parse,
    .print = print};

}  // namespace hone
