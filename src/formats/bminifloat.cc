// Block minifloats: small floats whose largest binade is [1, 2), times a shared power of two; equivalently, floats with
// a shared signed exponent bias (2^E - 1) - S. Fox et al., "A Block Minifloat Representation for Training Deep Neural
// Networks" (2021).
#include "formats/block_head.h"
#include "formats/codecs.h"
#include "formats/minifloat_head.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::optional<ElementParams> element = minifloat_head(text, "bminifloat_e");
  if (!element) return false;
  out.codec = &minifloat_codec;
  out.element = *element;
  out.element.bias = (1 << element->exponent_bits) - 1;
  using enum OptionKey;
  set_block(text, read_options(text, {tensor, channel, g, tile, ax, e, rule}), ScaleRule::floor, out);
  return true;
}

std::string print(const Format& format) {
  return fmt::format("bminifloat_e{}m{}{}{}", format.element.exponent_bits, format.element.mantissa_bits,
                     block_suffix(format), rule_suffix(format.scale.rule));
}

}  // namespace

extern constinit const FormatDef bminifloat_def{
    .name = "bminifloat_e<E>m<M>",
    .doc = "Block minifloat: 16 small floats share an exponent bias, a power of two of e<K> bits (8).",
    .examples =
        "bminifloat_e4m3 bminifloat_e2m1 bminifloat_e2m3.e5 bminifloat_e3m2.g32 bminifloat_e3m2.g0x8 "
        "bminifloat_e7m8 bminifloat_e4m3.rule=rceil",
    .parse = parse,
    .print = print};

}  // namespace hone
