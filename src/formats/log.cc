// Signed powers of two and zero, without a scale. Width buys range only: the precision is 13.8 dB for every width.
#include <fmt/format.h>

#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/minifloat_head.h"
#include "formats/scale.h"

namespace hone {
namespace {

int default_bias(int bits) { return (1 << (bits - 2)) - 1; }

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() == "log") text.fail_at("E_AMBIG", 0, "the width is missing; write log8");
  const std::optional<int> width = text.width_after("log");
  if (!width) return false;
  text.check_width("the width", *width, 3, 8);
  out.codec = &log_codec;
  out.element = log_element(*width, read_options(text, {OptionKey::bias}).bias.value_or(default_bias(*width)));
  out.scale_kind = &no_scale;
  // The smallest value is 2^(1-bias), the largest 2^(2^(W-1)-1-bias).
  check_exact(text, out.element.bias, (1 << (*width - 1)) - 1 - 127, 150);
  return true;
}

std::string print(const Format& format) {
  const ElementParams& p = format.element;
  return fmt::format("log{}{}", p.bits, bias_suffix(p.bias, default_bias(p.bits)));
}

}  // namespace

extern constinit const FormatDef logarithmic_def{
    .name = "log<W>",
    .doc = "Signed powers of two and zero, rounded in the log domain; bias<B> moves the range.",
    .examples = "log8 log4 log6.bias10",
    .parse = parse,
    .print = print};

}  // namespace hone
