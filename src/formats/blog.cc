// Block log: powers of two down from 1, and zero, times a shared power of two. The scale follows the codec's own
// rounding of the largest magnitude, so that it never saturates.
#include "formats/block_head.h"
#include "formats/codecs.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() == "blog") text.fail_at("E_AMBIG", 0, "the width is missing; write blog8");
  const std::optional<int> width = text.width_after("blog");
  if (!width) return false;
  text.check_width("the width", *width, 3, 8);
  out.codec = &log_codec;
  out.element = log_element(*width, (1 << (*width - 1)) - 1);
  using enum OptionKey;
  set_block(text, read_options(text, {tensor, channel, g, tile, ax, e}), ScaleRule::log, out);
  return true;
}

std::string print(const Format& format) { return fmt::format("blog{}{}", format.element.bits, block_suffix(format)); }

}  // namespace

extern constinit const FormatDef blog_def{
    .name = "blog<W>",
    .doc = "Block log: 16 signed powers of two or zero share a power of two of e<K> bits (8).",
    .examples = "blog8 blog4 blog6.e5 blog4.g2x8",
    .parse = parse,
    .print = print};

}  // namespace hone
