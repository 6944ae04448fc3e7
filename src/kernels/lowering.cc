#include "kernels/lowering.h"

#include <algorithm>

#include "ir/pointwise.h"
#include "kernels/kernel_sizes.h"
#include "kernels/shapes.h"

namespace hone {

int64_t rows_of(const std::vector<int64_t>& shape) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

const Expr& ExprBuilderForGroup::get(ValueId v) {
  if (auto found = exprs_.find(v); found != exprs_.end()) return found->second;
  const int position = first_operand_ + static_cast<int>(operands_.size());
  operands_.push_back(v);
  return exprs_.emplace(v, Expr::arg(position, compute_scalar(graph_.type(v).dtype))).first->second;
}

void ExprBuilderForGroup::apply(NodeId n) {
  const Node& node = graph_.node(n);
  std::vector<Expr> operands;
  std::vector<DType> dtypes;
  for (ValueId v : node.operands) {
    operands.push_back(v == kNone ? Expr() : get(v));
    dtypes.push_back(v == kNone ? DType::f32 : graph_.type(v).dtype);
  }
  define(node.results[0], pointwise_expr(*node.op, operands, dtypes, node.attributes));
}

Program program_of(ExprBuilderForGroup& builder, const Graph& graph, const std::vector<ValueId>& results) {
  std::vector<Expr> roots;
  for (ValueId v : results) roots.push_back(typed(compute_scalar(graph.type(v).dtype), builder.get(v)));
  return flatten(roots);
}

Shape Lowering::shape(ValueId v) const { return sizes ? to_shape(sizes->shape(v)) : graph.type(v).shape; }
std::vector<int64_t> Lowering::fixed_shape(ValueId v) const {
  if (!sizes) return constant_shape(graph.type(v).shape);
  const std::span<const int64_t> shape = sizes->shape(v);
  return {shape.begin(), shape.end()};
}
Shape Lowering::strides(ValueId v) const {
  if (!lies_apart(v)) return dense_strides(shape(v));
  asked.insert(v);
  Shape strides = apart->at(v);
  if (sizes)
    for (Dim& stride : strides) stride = stride.substitute(sizes->bindings());
  return strides;
}
std::optional<Dim> Lowering::row_stride(ValueId v, const Dim& length) const {
  if (!lies_apart(v)) return length;
  const Shape own = shape(v);
  Dim rows = 1, covered = 1;  // the row is the last dimensions
  size_t first = own.size();
  while (first > 0 && !(covered == length)) covered = covered * own[--first];
  if (!(covered == length)) return std::nullopt;
  for (size_t i = 0; i < first; ++i) rows = rows * own[i];
  const std::optional<Shape> lies = view_strides(own, strides(v), {rows, length});
  if (!lies || !(length == Dim(1) || (*lies)[1] == Dim(1))) return std::nullopt;
  return (*lies)[0];
}
const Tensor* Lowering::constant(ValueId v) const {
  if (v == kNone) return nullptr;
  const Tensor* constant = graph.constant(v);
  return constant || !sizes ? constant : sizes->known(v);
}
bool Lowering::is_laid_out(ValueId v) const {
  const Value& value = graph.value(v);
  return constant(v) || value.type.is_packed() || (value.role == InputRole::parameter && graph.update_of(v) == kNone);
}
Attributes Lowering::attributes(NodeId n) const {
  const Attributes& own = graph.node(n).attributes;
  return sizes && is_symbolic(own) ? substituted(own, sizes->bindings()) : own;
}

Support Lowering::open_sizes(const Group& group) const {
  if (sizes) return {};
  const auto is_open = [&](ValueId v) { return v != kNone && !is_constant(graph.type(v).shape); };
  for (NodeId n : group.nodes)
    if (std::ranges::any_of(graph.node(n).operands, is_open) || std::ranges::any_of(graph.node(n).results, is_open) ||
        is_symbolic(graph.node(n).attributes))
      return {"its kernels are made for each size"};
  return {};
}

std::vector<DType> Lowering::dtypes(const std::vector<ValueId>& values) const {
  std::vector<DType> result;
  for (ValueId v : values) result.push_back(graph.type(v).dtype);
  return result;
}

void Lowering::bind(StepFrame& step, ValueId v, Plane plane, int64_t offset) {
  step.pointers.push_back({plane, v, offset});
}

void Lowering::bind_made(StepFrame& step, Tensor table) {
  step.pointers.push_back({Plane::made, kNone, std::ssize(step.made)});
  step.made.push_back(std::move(table));
}

bool Lowering::in_group(const Group& group, NodeId n) const {
  return n != kNone && std::find(group.nodes.begin(), group.nodes.end(), n) != group.nodes.end();
}

std::set<NodeId> Lowering::behind_anchor(const Group& group) const {
  std::set<NodeId> behind{group.anchor};
  for (NodeId n : group.nodes)
    for (ValueId v : graph.node(n).operands)
      if (v != kNone && behind.contains(graph.producer(v))) behind.insert(n);
  return behind;
}

}  // namespace hone
