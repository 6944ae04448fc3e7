// Pointwise groups, and moves, which are the identity program over other strides.
#include "codegen/lowering.h"

#include "codegen/compiler.h"
#include "codegen/shapes.h"
#include "ir/pointwise.h"

namespace hone {

Refusal Lowering::pointwise(Step& step) const {
  for (NodeId n : step.group.nodes)
    if (!is_compilable(graph, graph.node(n))) return {"an operand's element type has no vector load or store"};
  ExprBuilderForGroup builder(graph, 0);
  for (NodeId n : step.group.nodes) builder.apply(n);
  PointwisePlan plan;
  plan.program = program_of(builder, graph, step.group.results);
  std::vector<std::vector<int64_t>> strides;
  const std::vector<int64_t> result = shape_of(graph, step.group.results[0]);
  for (ValueId v : builder.operands()) strides.push_back(broadcast_strides(shape_of(graph, v), result));
  return elementwise(step, plan, result, builder.operands(), strides, std::vector<int64_t>(strides.size(), 0));
}

// transpose, expand and slice copy elements: the identity program over permuted, zero or scaled strides.
Refusal Lowering::move(Step& step) const {
  const Node& node = graph.node(step.group.anchor);
  const std::string_view op = node.op->name;
  const ValueId src = node.operands[0];
  if (!is_compilable(graph, node)) return {"an operand's element type has no vector load or store"};
  const std::vector<int64_t> in = shape_of(graph, src), out = shape_of(graph, node.results[0]);
  const std::vector<int64_t> own = dense_strides(in);
  std::vector<int64_t> strides(out.size());
  int64_t offset = 0;
  if (op == "transpose") {
    const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
    for (size_t i = 0; i < out.size(); ++i)
      strides[i] =
          own[perm.empty() ? out.size() - 1 - i
                           : static_cast<size_t>(perm[i] < 0 ? perm[i] + static_cast<int64_t>(in.size()) : perm[i])];
  } else if (op == "expand") {
    strides = broadcast_strides(in, out);
  } else if (op == "slice") {
    strides = own;
    const std::vector<int64_t> starts = constant_shape(node.attributes.get<Shape>("starts"));
    const auto axes = node.attributes.get_or<std::vector<int64_t>>("axes", {}),
               steps = node.attributes.get_or<std::vector<int64_t>>("steps", {});
    for (size_t i = 0; i < starts.size(); ++i) {
      const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
      const auto a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis);
      offset += (starts[i] < 0 ? starts[i] + in[a] : starts[i]) * own[a];
      if (!steps.empty()) strides[a] *= steps[i];
    }
  } else {
    return {fmt::format("no kernel moves the elements of {}", op)};
  }
  PointwisePlan plan;
  plan.program = flatten(Expr::arg(0, compute_scalar(graph.type(src).dtype)));
  return elementwise(step, plan, out, {src}, {strides}, {offset});
}

Refusal Lowering::elementwise(Step& step, PointwisePlan& plan, const std::vector<int64_t>& result,
                              const std::vector<ValueId>& operands,
                              const std::vector<std::vector<int64_t>>& operand_strides,
                              const std::vector<int64_t>& offsets) const {
  const CollapsedLoops loops = collapse(result, operand_strides);
  plan.rank = static_cast<int>(loops.extents.size());
  if (plan.rank > 6) return {"more than six dimensions that don't merge"};
  plan.results = dtypes(step.group.results);
  size_t d = 0;
  for (int64_t extent : loops.extents) step.dims[d++] = extent;
  for (size_t o = 0; o < operands.size(); ++o) {
    using Inner = PointwisePlan::Inner;
    const int64_t inner = loops.strides[o].back();
    plan.operands.push_back({graph.type(operands[o]).dtype, inner == 0   ? Inner::broadcast
                                                            : inner == 1 ? Inner::contiguous
                                                                         : Inner::strided});
    for (int64_t stride : loops.strides[o]) step.dims[d++] = stride;
    if (offsets[o] == 0 && loops.strides[o] == dense_strides(loops.extents)) step.overwritable.push_back(operands[o]);
    const int64_t bytes = offsets[o] == 0 ? 0 : offsets[o] * size_bytes(graph.type(operands[o]).dtype);
    bind(step, operands[o], Plane::data, bytes);
  }
  for (ValueId v : step.group.results) bind(step, v);
  step.plan = plan;
  return {};
}

}  // namespace hone
