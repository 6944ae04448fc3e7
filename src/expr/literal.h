// Rules of untyped C++ numbers in expressions. Internal to this layer.
#pragma once

#include <vector>

#include "expr/expr.h"

namespace hone {

// The operation on literals only: a literal, or a boolean constant for a comparison. Integers fold in i64 (division in
// f64, as the quotient may have a fraction), all else in f64.
Expr fold_literals(ExprOp op, const std::vector<Expr>& operands);

// Gives the literals among `operands` the type of the others; f32 when all are literals. Bug when the others differ.
Scalar adopt_common_type(ExprOp op, std::vector<Expr>& operands);

}  // namespace hone
