// Identities that hold for every value of the operands, NaN and -0 included. Internal to this layer.
#pragma once

#include <span>

#include "expr/expr.h"

namespace hone {

// An expression equal to `op` on `operands` (typed, not all constant) with fewer or cheaper nodes; empty when no rule
// applies.
Expr simplify(ExprOp op, Scalar type, std::span<const Expr> operands);

}  // namespace hone
