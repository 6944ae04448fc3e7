// Block floating point: integers of W bits that share a power of two, as in MXINT but for the defaults.
#include "formats/block_head.h"
#include "formats/codecs.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() == "bfp") text.fail_at("E_AMBIG", 0, "the width is missing; write bfp8");
  const std::optional<int> width = text.width_after("bfp");
  if (!width) return false;
  text.check_width("the width", *width, 2, 16);
  out.codec = &int_codec;
  out.element = int_element(*width, *width - 2, /*symmetric=*/true);
  using enum OptionKey;
  set_block(text, read_options(text, {tensor, channel, g, tile, ax, e, rule}), ScaleRule::floor, out);
  return true;
}

std::string print(const Format& format) {
  return fmt::format("bfp{}{}{}", format.element.bits, block_suffix(format), rule_suffix(format.scale.rule));
}

}  // namespace

extern constinit const FormatDef bfp_def{
    .name = "bfp<W>",
    .doc = "Block floating point: 16 integers share a power of two of e<K> bits (8).",
    .examples =
        "bfp8 bfp4 bfp12 bfp6.e4 bfp8.g32 bfp8.g4x8 bfp8.g0x8 bfp8.tensor bfp8.channel bfp16.g64.e6 bfp4.rule=mse",
    .parse = parse,
    .print = print};

}  // namespace hone
