// Nodes of pointwise ops that compute a scalar expression (expr/expr.h) of values, one for each of its instructions:
// how what a rule says in the language of expressions becomes part of a graph.
#pragma once

#include <span>

#include "gradients/gradient.h"

namespace hone {

// A value that is there already, with the expression that it is.
struct KnownValue {
  Expr expression;
  ValueId value;
};

// arg(i) is values[i], whose elements are cast to the type in which the expression reads them; common subexpressions
// are emitted once, `known` ones not at all. Shapes broadcast. Throws Error where no op computes an instruction
// (`index`, `mulhi` of 64 bits).
ValueId emit_expression(Graph& graph, const Expr& expression, std::span<const ValueId> values,
                        std::span<const KnownValue> known = {});

// `d` times a factor, by the branches of a select, so that what a branch leaves out is 0 even where d is infinite.
Expr times(const Expr& d, const Expr& factor);

// The rule of pointwise ops: derivatives of the op's expression.
std::vector<ValueId> pointwise_gradient(const GradientArgs& args);

}  // namespace hone
