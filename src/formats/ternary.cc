// -1, 0 or 1 in two bits: magnitudes above 0.75 of the mean magnitude keep their sign; with a geometry times the mean
// of the magnitudes that do. Li et al., "Ternary Weight Networks" (2016).
#include <cmath>

#include "formats/codecs.h"
#include "formats/optional_scale.h"

namespace hone {
namespace {

Expr magnitude(Expr x) { return cast(Scalar::f64, abs(x)); }
Expr one() { return Expr::number(Scalar::f64, 1); }
// Results 0 and 1 are the sum of the finite magnitudes and their number.
Expr is_large(Expr x, Exprs results) {
  return magnitude(x) > cast(Scalar::f64, cast(Scalar::f32, results[0] / results[1]) * 0.75);
}

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::sum,
     [](const Format&, Expr x, Exprs) { return select(abs(x) < HUGE_VAL, magnitude(x), 0); }},
    {GroupReduction::Kind::sum, [](const Format&, Expr x, Exprs) { return select(abs(x) < HUGE_VAL, one(), 0); }},
    {GroupReduction::Kind::sum,
     [](const Format&, Expr x, Exprs earlier) { return select(is_large(x, earlier), magnitude(x), 0); }},
    {GroupReduction::Kind::sum,
     [](const Format&, Expr x, Exprs earlier) { return select(is_large(x, earlier), one(), 0); }}};

Expr normalise(const Format&, Expr x, const GroupValues& group) {
  return select(is_large(x, group.results), select(x < 0, -one(), one()), 0);
}

Expr code(const Format& format, Exprs results, int, int) {
  return f32_scale_code(format, cast(Scalar::f32, select(results[3] == 0, 0, results[2] / results[3])));
}

constinit const ScaleKind kThreshold{.name = "none",
                                     .reductions = std::span(kReductions).first(2),
                                     .normalise = normalise,
                                     .restore = [](const Format&, Expr value, const GroupValues&) { return value; }};

constinit const ScaleKind kMeanOfLarge{.name = "f32 mean of large",
                                       .reductions = kReductions,
                                       .code = code,
                                       .value = f32_scale_value,
                                       .normalise = normalise,
                                       .nan_code = f32_scale_nan};

bool parse(std::string_view string, Format& out) {
  const FormatText text(string);
  if (text.sound_head() != "ternary") return false;
  out.codec = &int_codec;
  out.element = int_element(2, 0, /*symmetric=*/true);
  out.element.no_code = 2;
  set_optional_scale(text, kThreshold, kMeanOfLarge, out);
  return true;
}

}  // namespace

extern constinit const FormatDef ternary_def{
    .name = "ternary",
    .doc = "-1, 0, 1 by a threshold of 0.75 of the mean magnitude; with a geometry times a mean magnitude.",
    .examples = "ternary ternary.tensor ternary.channel ternary.g32 ternary.g64.s=bf16",
    .parse = parse,
    .print = [](const Format& format) { return "ternary" + optional_scale_suffix(format); }};

}  // namespace hone
