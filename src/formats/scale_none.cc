#include "formats/scale.h"

namespace hone {

extern constinit const ScaleKind no_scale{
    .name = "none",
    .reductions = {},
    .normalise = [](const Format&, Expr x, const GroupValues&) { return cast(Scalar::f64, x); },
    .restore = [](const Format&, Expr value, const GroupValues&) { return value; }};

}  // namespace hone
