// An f32 per group that maps the largest magnitude onto the largest code. The cap at 2^127 keeps code * scale finite;
// the floor keeps the scale normal.
#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

// Unsigned elements clamp negatives to 0, so they don't count.
Expr magnitude(const Format& format, Expr x, Exprs) {
  return cast(Scalar::f64, format.element.is_signed ? abs(x) : max(x, 0));
}
constexpr GroupReduction kReductions[] = {{GroupReduction::Kind::max, magnitude}};

Expr code(const Format& format, Exprs results, int, int) {
  const Expr largest = cast(Scalar::f32, results[0]);
  const Expr quotient = min(largest, 0x1p127) / format.codec->max(format.element);
  return f32_scale_code(format,
                        select(largest == 0, typed(Scalar::f32, 1), max(quotient, smallest_normal_scale(format))));
}

}  // namespace

extern constinit const ScaleKind f32_max_scale{
    .name = "f32 max",
    .reductions = kReductions,
    .code = code,
    .value = f32_scale_value,
    // One f32 division: multiplying by a reciprocal could move a value across a tie.
    .normalise = [](const Format&, Expr x,
                    const GroupValues& group) { return cast(Scalar::f64, x / cast(Scalar::f32, group.scale())); },
    .nan_code = f32_scale_nan};

}  // namespace hone
