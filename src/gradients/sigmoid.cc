// Derivatives by the sigmoid itself: that of the quotient by which it is defined is infinity / infinity where exp(-x)
// overflows.
#include <array>

#include "gradients/expression_nodes.h"
#include "ir/compute_column.h"
#include "ops/calls/activations.h"

namespace hone {
namespace {

// The gradient of x by an expression of arg(0) = x, arg(1) = sigmoid(alpha * x), arg(2) = the gradient of the result.
std::vector<ValueId> by_sigmoid(const GradientArgs& a, ValueId sigmoid,
                                Expr (*rule)(Expr x, Expr s, Expr d, double alpha), double alpha) {
  const Scalar type = compute_scalar(a.type(0).dtype);
  const Expr d_x = rule(Expr::arg(0, type), Expr::arg(1, type), Expr::arg(2, type), alpha);
  return {emit_expression(a.graph, d_x, std::array{a.operand(0), sigmoid, a.d_results[0]})};
}

ValueId sigmoid_of(const GradientArgs& a, double alpha) {
  const Scalar type = compute_scalar(a.type(0).dtype);
  const ValueId scaled = emit_expression(a.graph, Expr::arg(0, type) * alpha, std::array{a.operand(0)});
  return ops::sigmoid(a.graph, {scaled});
}

std::vector<ValueId> sigmoid_gradient(const GradientArgs& a) {
  const bool is_exact = a.graph.type(a.result()).dtype == gradient_dtype(a.type(0).dtype);
  return by_sigmoid(
      a, is_exact ? a.result() : sigmoid_of(a, 1), [](Expr, Expr s, Expr d, double) { return d * (s * (1 - s)); }, 1);
}

std::vector<ValueId> silu_gradient(const GradientArgs& a) {
  const double alpha = a.op().attributes.get_or<double>("alpha", 1);
  return by_sigmoid(
      a, sigmoid_of(a, alpha), [](Expr x, Expr s, Expr d, double slope) { return d * (s * (1 + slope * x * (1 - s))); },
      alpha);
}

}  // namespace

extern constinit const GradientDef sigmoid_gradient_def{.op = &sigmoid_def, .rule = sigmoid_gradient};
extern constinit const GradientDef silu_gradient_def{.op = &silu_def, .rule = silu_gradient};

}  // namespace hone
