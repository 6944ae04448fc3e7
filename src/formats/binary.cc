// One sign bit an element: +1 or -1, with a geometry +-mean |x|.
// Rastegari et al., "XNOR-Net: ImageNet Classification Using Binary Convolutional Neural Networks" (2016).
#include "formats/codecs.h"
#include "formats/optional_scale.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() != "binary") return false;
  out.codec = &sign_codec;
  out.element = {.bits = 1};
  set_optional_scale(text, no_scale, f32_mean_scale, out);
  return true;
}

}  // namespace

extern constinit const FormatDef binary_def{
    .name = "binary",
    .doc = "Signs: +-1, with a geometry times the mean magnitude.",
    .examples = "binary binary.tensor binary.channel binary.g16 binary.g32.s=bf16",
    .parse = parse,
    .print = [](const Format& format) { return "binary" + optional_scale_suffix(format); }};

}  // namespace hone
