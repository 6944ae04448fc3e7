// The node behind an Expr and the one function that makes nodes. Internal to this layer.
#pragma once

#include <cstdint>
#include <vector>

#include "expr/expr.h"

namespace hone {

// An untyped C++ number remembers whether it was an integer: then it is exact up to 64 bits.
enum class Literal : uint8_t { none, integer, real };

struct Expr::Node {
  ExprOp op;
  Scalar type;  // of a literal: f32, the type it gets when it meets no operand
  Literal literal = Literal::none;
  uint64_t payload = 0;  // constant: bits; literal: bits of the int64_t or double; arg: position
  std::vector<Expr> operands = {};
  std::vector<uint64_t> table = {};  // of a lookup: bits of the entries
};

struct ExprBuilder {
  static Expr wrap(Expr::Node node);
  static const Expr::Node& node(const Expr& e);  // Bug when e is empty
};

// The operation on typed operands, folded and simplified. Bug when it is not defined for their types.
Expr build(ExprOp op, Scalar type, std::vector<Expr> operands, std::vector<uint64_t> table = {});

// `e` with other operands of the same types.
Expr rebuild(const Expr& e, std::vector<Expr> operands);

inline bool is_constant(const Expr& e) { return e.op() == ExprOp::constant && !e.is_literal(); }

}  // namespace hone
