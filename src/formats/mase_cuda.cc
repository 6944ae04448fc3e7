// compat=mase-cuda: the packed MXINT8 of mase-cuda, bit for bit (docs/FORMATS.md, section 7). Groups are consecutive
// elements of the flattened tensor; values are rounded to bf16 first; decoding is arithmetic on bf16 bits, which
// differs from a product for codes that its own encoder does not emit.
#include "formats/codecs.h"
#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {

extern const FormatDef mxint_def;

namespace {

Expr u32(uint32_t value) { return Expr::constant(Scalar::u32, value); }

// x rounded to bf16 with subnormals flushed, f64.
Expr rounded(Expr x) {
  const ElementParams bf16 = minifloat_element(8, 7, ElementParams::Top::ieee);
  const Expr y = minifloat_codec.decode(bf16, minifloat_codec.encode(bf16, cast(Scalar::f64, x)));
  return select(abs(y) < 0x1p-126, 0, y);
}

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return abs(rounded(x)); }}};

// The biased exponent of the largest magnitude.
Expr code(const Format&, Exprs results, int, int) {
  const Expr biased = cast(Scalar::u32, bitcast(Scalar::u64, results[0]) >> 52) - u32(1023 - 127);
  return select(results[0] == 0, u32(0), biased);
}

// 2^(code - 127) for every code; 255 becomes infinity or NaN only with its elements.
Expr value(const Format&, Expr code) { return bitcast(Scalar::f64, (cast(Scalar::u64, code) + (1023 - 127)) << 52); }

// `value` is m / 64. The significand's leading one comes from bit 6 of |m|: where that is 0, what it stood for is
// subtracted again.
Expr restore(const Format&, Expr value, const GroupValues& group) {
  const Expr magnitude = cast(Scalar::u32, abs(value) * 64);
  const Expr sign = select(value < 0, u32(0x80000000), u32(0));
  const Expr biased = cast(Scalar::u32, bitcast(Scalar::u64, group.scale()) >> 52) - u32(1023 - 127);
  const Expr one = sign | biased << 23;
  const Expr whole = bitcast(Scalar::f32, one | (magnitude & 0x3f) << 17);
  const Expr exact = select((magnitude & 0x40) != 0, whole, whole - bitcast(Scalar::f32, one));
  return cast(Scalar::f64, exact);
}

constinit const ScaleKind kBf16Exponent{
    .name = "bf16 exponent",
    .reductions = kReductions,
    .code = code,
    .value = value,
    .normalise = [](const Format&, Expr x, const GroupValues& group) { return rounded(x) / group.scale(); },
    .restore = restore,
    .nan_code = [](const Format&) { return 0xffu; }};

Format sound_format(Format format) {
  format.family = &mxint_def;
  format.geometry.kind = Geometry::Kind::group;
  return format;
}

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (!text.asks_for("compat=mase-cuda")) return false;
  const Format sound = parse_format(text.without(OptionKey::compat));
  if (sound.family != &mxint_def || sound.element.bits != 8 || sound.scale.rule != ScaleRule::floor ||
      sound.geometry.axis != -1)
    return false;
  out = sound;
  out.scale_kind = &kBf16Exponent;
  out.geometry.kind = Geometry::Kind::flattened;
  return true;
}

}  // namespace

extern constinit const FormatDef mase_cuda_def{
    .name = "mxint8.compat=mase-cuda",
    .doc = "The packed MXINT8 of mase-cuda, bit for bit: flat groups, values rounded to bf16 first.",
    .examples = "mxint8.compat=mase-cuda mxint8.g16.compat=mase-cuda",
    .parse = parse,
    .print = [](const Format& format) { return to_string(sound_format(format)) + ".compat=mase-cuda"; }};

}  // namespace hone
