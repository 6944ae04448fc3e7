// Fixed point: a W-bit integer times 2^-F. The fraction bits fix the scale, so nothing else is stored.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/integer_head.h"
#include "formats/scale.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::optional<IntegerHead> head = integer_head(text);
  if (!head || !text.has(OptionKey::f)) return false;
  text.check_width("the width", head->width, 2, 32);
  using enum OptionKey;
  const FormatOptions options = read_options(text, {f, round, tensor, channel, g, tile, ax, s, asym});
  for (OptionKey key : {tensor, channel, g, tile, ax, s, asym})
    if (text.has(key))
      text.fail_at("E_CONFLICT", text.position_of(key),
                   "fraction bits fix the scale; drop this option or the fraction bits");
  out.codec = &int_codec;
  out.element = head->is_signed ? int_element(head->width, *options.f, /*symmetric=*/false)
                                : uint_element(head->width, *options.f);
  out.element.round_floor = options.round_floor.value_or(false);
  out.scale_kind = &no_scale;
  return true;
}

std::string print(const Format& format) {
  const ElementParams& p = format.element;
  return fmt::format("{}int{}.f{}{}", p.is_signed ? "" : "u", p.bits, p.fraction_bits,
                     p.round_floor ? ".round=floor" : "");
}

}  // namespace

extern constinit const FormatDef fixed_point_def{
    .name = "int<W>.f<F>",
    .doc = "Fixed point: W-bit integers (uint<W>: unsigned) times 2^-F; round=floor rounds down.",
    .examples = "int8.f4 int4.f2 int16.f8 int32.f8 int8.f-2 uint8.f6 int8.f4.round=floor",
    .parse = parse,
    .print = print};

}  // namespace hone
