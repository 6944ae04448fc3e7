#include "formats/scale.h"

namespace hone {

extern constinit const ScaleKind no_scale{
    .name = "none",
    .reductions = {},
    .normalise = [](const Format&, Expr x, Expr, Expr) { return cast(Scalar::f64, x); },
    .restore = [](const Format&, Expr value, Expr, Expr) { return value; }};

}  // namespace hone
