// fp32, fp16 and bf16: tensors of these are plain arrays of that type; conversion is IEEE, overflow gives infinity.
#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::string_view head = text.sound_head();
  out.scale_kind = &no_scale;
  if (head == "fp32") {
    out.codec = &binary32_codec;
    out.element = {.bits = 32};
  } else if (head == "fp16" || head == "bf16") {
    out.codec = &minifloat_codec;
    out.element = head == "fp16" ? minifloat_element(5, 10, ElementParams::Top::ieee)
                                 : minifloat_element(8, 7, ElementParams::Top::ieee);
    out.element.saturate = false;
  } else {
    return false;
  }
  read_options(text, {});
  return true;
}

std::string print(const Format& format) {
  if (format.element.bits == 32) return "fp32";
  return format.element.exponent_bits == 5 ? "fp16" : "bf16";
}

}  // namespace

extern constinit const FormatDef plain_float_def{
    .name = "fp32 fp16 bf16",
    .doc = "IEEE binary32 and binary16, and bfloat16: binary32 without its low 16 bits.",
    .examples = "fp32 fp16 bf16",
    .parse = parse,
    .print = print};

bool is_plain_float(const Format& format) { return format.family == &plain_float_def; }

}  // namespace hone
