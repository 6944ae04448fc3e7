// What reads elements by their indices: their gradients are summed where they were read. top_k gives the indices
// itself.
#include "ops/calls/gather.h"
#include "gradients/gradient.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/gather_gradient.h"
#include "ops/calls/gather_nd.h"
#include "ops/calls/top_k.h"

namespace hone {
namespace {

std::vector<ValueId> gather_gradient(const GradientArgs& a) {
  return {ops::gather_gradient(a.graph, {.d = a.d_results[0],
                                         .indices = a.operand(1),
                                         .shape = a.type(0).shape,
                                         .axis = a.op().attributes.get_or<int64_t>("axis", 0)})};
}

std::vector<ValueId> gather_second_gradient(const GradientArgs& a) {
  return {ops::gather(
      a.graph,
      {.table = a.d_results[0], .indices = a.operand(1), .axis = a.op().attributes.get_or<int64_t>("axis", 0)})};
}

ValueId added_at(const GradientArgs& a, ValueId indices, int64_t axis) {
  const ValueId d = a.d_results[0], none = zeros(a.graph, a.graph.type(d).dtype, a.type(0).shape);
  return ops::scatter_elements(a.graph,
                               {.x = none, .indices = indices, .updates = d, .axis = axis, .reduction = "add"});
}

std::vector<ValueId> gather_elements_gradient(const GradientArgs& a) {
  return {added_at(a, a.operand(1), a.op().attributes.get_or<int64_t>("axis", 0))};
}

std::vector<ValueId> top_k_gradient(const GradientArgs& a) {
  if (a.d_results[0] == kNone) return {};
  return {added_at(a, a.result(1), a.op().attributes.get_or<int64_t>("axis", -1))};
}

// The indices with those of the batch dimensions before them: tuples from the first axis on.
ValueId whole_tuples(const GradientArgs& a) {
  const int64_t batch_dims = a.op().attributes.get_or<int64_t>("batch_dims", 0);
  const TensorType& indices = a.type(1);
  Shape shape = indices.shape;
  shape.back() = 1;
  std::vector<ValueId> parts;
  for (int64_t axis = 0; axis < batch_dims; ++axis)
    parts.push_back(ops::iota(a.graph, {.shape = shape, .axis = axis, .dtype = indices.dtype}));
  parts.push_back(a.operand(1));
  return batch_dims == 0 ? a.operand(1) : ops::concat(a.graph, {.inputs = parts, .axis = -1});
}

std::vector<ValueId> gather_nd_gradient(const GradientArgs& a) {
  const ValueId d = a.d_results[0], none = zeros(a.graph, a.graph.type(d).dtype, a.type(0).shape);
  return {ops::scatter_nd(a.graph, {.x = none, .indices = whole_tuples(a), .updates = d, .reduction = "add"})};
}

}  // namespace

extern constinit const GradientDef gather_rule_def{.op = &gather_def, .rule = gather_gradient};
extern constinit const GradientDef gather_second_rule_def{.op = &gather_gradient_def, .rule = gather_second_gradient};
extern constinit const GradientDef gather_elements_rule_def{.op = &gather_elements_def,
                                                            .rule = gather_elements_gradient};
extern constinit const GradientDef gather_nd_rule_def{.op = &gather_nd_def, .rule = gather_nd_gradient};
extern constinit const GradientDef top_k_rule_def{.op = &top_k_def, .rule = top_k_gradient};

}  // namespace hone
