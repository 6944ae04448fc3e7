// OFP8: E4M3 (no infinity, largest 448) and E5M2 (IEEE-like, largest 57344). Encoding saturates ("SAT" mode).
#include "formats/codecs.h"
#include "formats/optional_scale.h"

namespace hone {
namespace {

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  const std::string_view head = text.sound_head();
  if (head == "fp8") text.fail_at("E_AMBIG", 0, "write fp8_e4m3 or fp8_e5m2");
  if (head != "fp8_e4m3" && head != "fp8_e5m2") return false;
  out.codec = &minifloat_codec;
  out.element = head == "fp8_e4m3" ? minifloat_element(4, 3, ElementParams::Top::fn)
                                   : minifloat_element(5, 2, ElementParams::Top::ieee);
  set_optional_scale(text, no_scale, f32_max_scale, out);
  return true;
}

std::string print(const Format& format) {
  const std::string head = format.element.exponent_bits == 4 ? "fp8_e4m3" : "fp8_e5m2";
  return head + optional_scale_suffix(format);
}

}  // namespace

extern constinit const FormatDef fp8_def{
    .name = "fp8_e4m3 fp8_e5m2",
    .doc = "OCP 8-bit floats (OFP8), saturating; with a geometry they share an f32 scale.",
    .examples = "fp8_e4m3 fp8_e5m2 fp8_e4m3.channel fp8_e5m2.tensor fp8_e4m3.g32 fp8_e4m3.channel.s=bf16",
    .parse = parse,
    .print = print};

}  // namespace hone
