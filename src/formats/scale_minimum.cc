// A scale and a minimum per group: the codes 0 .. 2^W - 1 cover [min x, max x], wherever that lies (docs/FORMATS.md,
// section 4.4).
#include <cmath>

#include "formats/scale.h"

namespace hone {
namespace {

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::min, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, x); }},
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, x); }}};

double highest_code(const Format& format) { return std::ldexp(1.0, format.element.bits) - 1; }

Expr code(const Format& format, Exprs results, int, int level) {
  const Expr low = max(results[0], -0x1p127), high = min(results[1], 0x1p127);
  if (level == 1) return f32_scale_code(format, cast(Scalar::f32, low));
  const Expr quotient = cast(Scalar::f32, (high - low) / highest_code(format));
  return f32_scale_code(format,
                        select(high == low, typed(Scalar::f32, 1), max(quotient, smallest_normal_scale(format))));
}

}  // namespace

extern constinit const ScaleKind f32_minimum_scale{
    .name = "f32 with a minimum",
    .reductions = kReductions,
    .levels = 2,
    .minimum_sign = 1,
    .code = code,
    .value = f32_scale_value,
    .normalise =
        [](const Format&, Expr x, const GroupValues& group) {
          return cast(Scalar::f64, (x - cast(Scalar::f32, group.scales[1])) / cast(Scalar::f32, group.scale()));
        },
    .nan_code = f32_scale_nan};

}  // namespace hone
