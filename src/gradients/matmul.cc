// Products: the gradient of each factor is a product of the other with the gradient of the result. Packed weights are
// read as they are; they have no gradient of their own.
#include "ops/calls/matmul.h"
#include "gradients/gradient.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

// [..., K] as [M, K]: what `linear` sums over.
ValueId as_rows(Graph& graph, ValueId x) {
  const Shape& shape = graph.type(x).shape;
  if (shape.size() == 2) return x;
  const Shape lead(shape.begin(), shape.end() - 1);
  return ops::reshape(graph, {.x = x, .shape = Shape{element_count(lead), shape.back()}});
}

std::vector<ValueId> linear_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const ValueId x = a.operand(0), w = a.operand(1), d = a.d_results[0];
  std::vector<ValueId> gradients(a.op().operands.size(), kNone);
  if (a.wants(0)) {
    const bool is_vector = a.type(0).rank() == 1;
    gradients[0] = reshaped(g, ops::matmul(g, {.a = is_vector ? as_rows(g, d) : d, .b = w}), a.type(0).shape);
  }
  if (a.wants(1)) gradients[1] = ops::matmul(g, {.a = as_rows(g, d), .b = as_rows(g, x), .transpose_a = 1});
  if (a.wants(2)) gradients[2] = summed_to(g, d, a.type(2).shape);
  return gradients;
}

std::vector<ValueId> matmul_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const ValueId left = a.operand(0), right = a.operand(1), d = a.d_results[0];
  const int64_t swap_a = a.op().attributes.get_or<int64_t>("transpose_a", 0),
                swap_b = a.op().attributes.get_or<int64_t>("transpose_b", 0);
  std::vector<ValueId> gradients(2, kNone);
  if (a.wants(0)) {
    // C = A · B: dA = dC · Bᵀ, [M,K]; where A is given transposed, its transpose is asked for.
    const ValueId d_left = swap_a ? ops::matmul(g, {.a = right, .b = d, .transpose_a = swap_b, .transpose_b = 1})
                                  : ops::matmul(g, {.a = d, .b = right, .transpose_b = 1 - swap_b});
    gradients[0] = summed_to(g, d_left, a.type(0).shape);
  }
  if (a.wants(1)) {
    const ValueId d_right = swap_b ? ops::matmul(g, {.a = d, .b = left, .transpose_a = 1, .transpose_b = swap_a})
                                   : ops::matmul(g, {.a = left, .b = d, .transpose_a = 1 - swap_a});
    gradients[1] = summed_to(g, d_right, a.type(1).shape);
  }
  return gradients;
}

}  // namespace

extern constinit const GradientDef linear_gradient_def{.op = &linear_def, .rule = linear_gradient};
extern constinit const GradientDef matmul_gradient_def{.op = &matmul_def, .rule = matmul_gradient};

}  // namespace hone
