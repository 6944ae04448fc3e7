// An f32 of either sign per group: elements that reach further below zero than above take the larger side of the group
// there. Zeros alone have scale 0, since no code needs to stand for 0.
#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::min, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, min(x, 0)); }},
    {GroupReduction::Kind::max, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, max(x, 0)); }}};

Expr code(const Format& format, Exprs results, int, int) {
  const Expr wanted = cast(Scalar::f32, signed_scale(format, results[0], results[1]));
  const Expr magnitude = max(abs(wanted), smallest_normal_scale(format));
  return f32_scale_code(format, select(wanted == 0, 0, select(wanted < 0, -magnitude, magnitude)));
}

}  // namespace

Expr signed_scale(const Format& format, Expr lowest, Expr highest) {
  const double up = format.codec->max(format.element), down = -lowest_value(format);
  const Expr low = min(-lowest, 0x1p127), high = min(highest, 0x1p127);
  const Expr positive = max(low / down, high / up), negative = max(high / down, low / up);
  return select(positive <= negative, positive, -negative);
}

extern constinit const ScaleKind f32_signed_scale{.name = "f32 signed",
                                                  .reductions = kReductions,
                                                  .code = code,
                                                  .value = f32_scale_value,
                                                  .normalise =
                                                      [](const Format&, Expr x, const GroupValues& group) {
                                                        const Expr scale = cast(Scalar::f32, group.scale());
                                                        return cast(Scalar::f64, select(scale == 0, 0, x / scale));
                                                      },
                                                  .nan_code = f32_scale_nan};

}  // namespace hone
