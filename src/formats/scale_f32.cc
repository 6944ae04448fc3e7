// An f32 per group that maps the largest magnitude onto the largest code. The cap at 2^127 keeps code * scale finite;
// the floor at 2^-126 keeps the scale normal.
#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

// Unsigned elements clamp negatives to 0, so they don't count.
Expr magnitude(const Format& format, Expr x, Exprs) {
  return cast(Scalar::f64, format.element.is_signed ? abs(x) : max(x, 0));
}
constexpr Reduction kReductions[] = {{Reduction::Kind::max, magnitude}};

Expr code(const Format& format, Exprs results, int) {
  const Expr largest = cast(Scalar::f32, results[0]);
  const Expr quotient = min(largest, 0x1p127) / format.codec->max(format.element);
  return bitcast(Scalar::u32, select(largest == 0, typed(Scalar::f32, 1), max(quotient, 0x1p-126)));
}

}  // namespace

extern constinit const ScaleKind f32_max_scale{
    .name = "f32 max",
    .reductions = kReductions,
    .code = code,
    .value = [](const Format&, Expr code) { return cast(Scalar::f64, bitcast(Scalar::f32, code)); },
    // One f32 division: multiplying by a reciprocal could move a value across a tie.
    .normalise = [](const Format&, Expr x,
                    const GroupValues& group) { return cast(Scalar::f64, x / cast(Scalar::f32, group.scale)); },
    .nan_code = [](const Format&) { return 0x7fc00000u; }};

ScaleParams f32_scale_params() { return {.bits = 32}; }

}  // namespace hone
