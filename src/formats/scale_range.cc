// An f32 and a zero point per group: the codes 0 .. 2^W - 1 cover [min(0, min x), max(0, max x)], and zero is exact.
#include <cmath>

#include "formats/scale.h"

namespace hone {
namespace {

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::min, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, min(x, 0)); }},
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, max(x, 0)); }}};

double highest_code(const Format& format) { return std::ldexp(1.0, format.element.bits) - 1; }

Expr code(const Format& format, Exprs results, int, int) {
  const Expr low = max(results[0], -0x1p127), high = min(results[1], 0x1p127);
  const Expr quotient = cast(Scalar::f32, (high - low) / highest_code(format));
  return f32_scale_code(format,
                        select(high == low, typed(Scalar::f32, 1), max(quotient, smallest_normal_scale(format))));
}

Expr zero_point(const Format& format, Exprs results, Expr scale) {
  const Expr low = cast(Scalar::f32, max(results[0], -0x1p127));
  const Expr position = rint(-low / cast(Scalar::f32, scale));
  return cast(Scalar::u32, min(max(position, 0), highest_code(format)));
}

}  // namespace

extern constinit const ScaleKind f32_range_scale{
    .name = "f32 range",
    .reductions = kReductions,
    .code = code,
    .value = f32_scale_value,
    .zero_point = zero_point,
    // Rounded before the zero point is added: the codec's own rounding then changes nothing.
    .normalise =
        [](const Format&, Expr x, const GroupValues& group) {
          return cast(Scalar::f64, rint(x / cast(Scalar::f32, group.scale()))) + group.zero_point;
        },
    .restore = [](const Format&, Expr value,
                  const GroupValues& group) { return (value - group.zero_point) * group.scale(); },
    .nan_code = f32_scale_nan};

}  // namespace hone
