#include "gradients/gradient.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "gradients/expression_nodes.h"
#include "gradients/registry.h"
#include "ops/calls/cast.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"

namespace hone {
namespace {

const GradientDef* rule_of(const OpDef& op) {
  static const auto by_op = [] {
    std::map<const OpDef*, const GradientDef*> map;
    for (const GradientDef* def : gradients::all()) map.emplace(def->op, def);
    return map;
  }();
  const auto found = by_op.find(&op);
  return found == by_op.end() ? nullptr : found->second;
}

}  // namespace

bool has_gradient(const OpDef& op) { return rule_of(op) || (op.pointwise && !op.no_gradient); }

DType gradient_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

namespace {

std::vector<ValueId> by_rule(const GradientArgs& a) {
  const OpDef& op = *a.op().op;
  const GradientDef* def = rule_of(op);
  try {
    return def ? def->rule(a) : pointwise_gradient(a);
  } catch (const Error& e) {
    fail("{} has no gradient here: {}", op.name, e.what());
  }
}

}  // namespace

std::vector<ValueId> gradients_of(const GradientArgs& a) {
  const OpDef& op = *a.op().op;
  if (!has_gradient(op)) fail("{} has no gradient: {}", op.name, op.no_gradient ? op.no_gradient : "no rule is known");
  if (std::ranges::all_of(a.d_results, [](ValueId d) { return d == kNone; }))
    return std::vector<ValueId>(a.op().operands.size(), kNone);
  for (size_t i = 0; i < a.op().operands.size(); ++i)
    if (a.wants(i) && !a.type(i).ranked && !op.any_rank)
      fail("{} reads %{}, whose rank is not known before a run", op.name, a.graph.value(a.operand(i)).name);
  std::vector<ValueId> gradients = by_rule(a);
  gradients.resize(a.op().operands.size(), kNone);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] == kNone) continue;
    TensorType wanted = a.type(i);
    wanted.dtype = gradient_dtype(wanted.dtype);
    gradients[i] = as_dtype(a.graph, gradients[i], wanted.dtype);
    CHECK(may_be_same(a.graph.type(gradients[i]), wanted), "{}: the gradient of operand {} is {} instead of {}",
          op.name, i, to_string(a.graph.type(gradients[i])), to_string(wanted));
  }
  return gradients;
}

ValueId summed_to(Graph& graph, ValueId d, const Shape& shape) {
  const Shape from = graph.type(d).shape;
  CHECK(from.size() >= shape.size());
  const size_t more = from.size() - shape.size();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i >= more && shape[i - more] == from[i]) continue;
    if (i >= more && shape[i - more] != Dim(1))
      fail(
          "whether an operand {} was broadcast to {} is not known before a run, and so not what its gradient sums "
          "over. "
          "Give both one size, or the operand 1",
          to_string(shape), to_string(from));
    axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return d;
  const ValueId sum = ops::reduce_sum(graph, {.x = d, .axes = axes});
  return reshaped(graph, sum, shape);
}

ValueId zeros(Graph& graph, DType dtype, const Shape& shape) {
  return ops::full(graph, {.shape = shape, .value = 0.0, .dtype = dtype});
}

ValueId as_dtype(Graph& graph, ValueId x, DType dtype) {
  return graph.type(x).dtype == dtype ? x : ops::cast(graph, {.x = x, .dtype = dtype});
}

ValueId reshaped(Graph& graph, ValueId x, const Shape& shape) {
  return graph.type(x).shape == shape ? x : ops::reshape(graph, {.x = x, .shape = shape});
}

ValueId size_along(Graph& graph, ValueId x, const std::vector<size_t>& axes, DType dtype) {
  Dim size = 1;
  for (size_t axis : axes) size = size * graph.type(x).shape[axis];
  if (size.is_constant())
    return ops::full(graph, {.shape = Shape(), .value = static_cast<double>(size.constant()), .dtype = dtype});
  const std::vector<int64_t> list(axes.begin(), axes.end());
  const ValueId positions = graph.add_constant("", Tensor::of<int64_t>({std::ssize(list)}, list));
  const ValueId sizes = ops::gather(graph, {.table = ops::shape_of(graph, {x}), .indices = positions});
  return ops::cast(graph, {.x = ops::reduce_prod(graph, {.x = sizes, .keepdims = 0}), .dtype = dtype});
}

ValueId wide_operand(const GradientArgs& a, size_t i) {
  return as_dtype(a.graph, a.operand(i), gradient_dtype(a.type(i).dtype));
}

KnownArguments::KnownArguments(const GradientArgs& a) : attributes_(a.op().attributes) {
  for (ValueId v : a.op().operands) {
    types_.push_back(v == kNone ? nullptr : &a.graph.type(v));
    constants_.push_back(v == kNone ? nullptr : a.graph.constant(v));
  }
}

}  // namespace hone
