// The mean magnitude of a group, as an f32: what two-valued elements +-1 are multiplied by.
#include "formats/scale.h"

namespace hone {
namespace {

constexpr GroupReduction kReductions[] = {
    {GroupReduction::Kind::sum, [](const Format&, Expr x, Exprs) { return cast(Scalar::f64, abs(x)); }},
    {GroupReduction::Kind::sum, [](const Format&, Expr, Exprs) { return Expr::number(Scalar::f64, 1); }}};

}  // namespace

extern constinit const ScaleKind f32_mean_scale{
    .name = "f32 mean",
    .reductions = kReductions,
    .code = [](const Format& format, Exprs results, int,
               int) { return f32_scale_code(format, cast(Scalar::f32, results[0] / results[1])); },
    .value = f32_scale_value,
    // Only the sign is encoded: no magnitude saturates.
    .normalise = [](const Format&, Expr x,
                    const GroupValues&) { return select(x < 0, Expr::number(Scalar::f64, -1), 1); },
    .nan_code = f32_scale_nan};

}  // namespace hone
