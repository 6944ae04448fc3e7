// Names for the argument positions of a RowRule (ir/op_def.h): operands come first, then the row's length, the values
// of the reductions, and the elements that reductions kept.
#pragma once

#include "ir/op_def.h"

namespace hone {

struct RowPositions {
  int operands, reductions;
  Expr length() const { return Expr::arg(operands, Scalar::f32); }
  Expr value(int j) const { return Expr::arg(operands + 1 + j, Scalar::f32); }
  Expr kept(int j) const { return Expr::arg(operands + 1 + reductions + j, Scalar::f32); }
};
inline RowPositions row_positions(Args a, int reductions) { return {static_cast<int>(a.operands.size()), reductions}; }

}  // namespace hone
