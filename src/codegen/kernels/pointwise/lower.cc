// Pointwise groups, and the kernels over elements that moves are, too.
#include <algorithm>

#include "codegen/lowering.h"

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
  const std::vector<int64_t> result = shape_of(graph, step.group.results[0]);
  std::vector<Strided> operands;
  for (ValueId v : builder.operands()) operands.push_back({{v}, broadcast_strides(shape_of(graph, v), result)});
  return elementwise(step, plan, result, operands, {step.group.results, dense_strides(result)});
}

Refusal Lowering::elementwise(Step& step, PointwisePlan& plan, const std::vector<int64_t>& extents,
                              const std::vector<Strided>& operands, const Strided& results) const {
  std::vector<std::vector<int64_t>> all;
  for (const Strided& operand : operands) all.push_back(operand.strides);
  all.push_back(results.strides);
  CollapsedLoops loops = collapse(extents, all);
  if (loops.strides.back().back() != 1 && loops.extents.back() != 1) {  // rows of one element each
    loops.extents.push_back(1);
    for (std::vector<int64_t>& strides : loops.strides) strides.push_back(&strides == &loops.strides.back() ? 1 : 0);
  }
  plan.rank = static_cast<int>(loops.extents.size());
  if (plan.rank > 6) return {"more than six dimensions that don't merge"};
  plan.dense = element_count(extents) == 1 || loops.strides.back() == dense_strides(loops.extents);
  plan.results = dtypes(results.values);
  auto at = std::ranges::copy(loops.extents, step.dims.begin()).out;
  const auto bind_from = [&](ValueId v, int64_t offset) {
    bind(step, v, Plane::data, offset == 0 ? 0 : offset * size_bytes(graph.type(v).dtype));
  };
  for (size_t o = 0; o < operands.size(); ++o) {
    using Inner = PointwisePlan::Inner;
    const ValueId v = operands[o].values[0];
    const int64_t inner = loops.strides[o].back();
    plan.operands.push_back({graph.type(v).dtype, inner == 0   ? Inner::broadcast
                                                  : inner == 1 ? Inner::contiguous
                                                               : Inner::strided});
    at = std::ranges::copy(loops.strides[o], at).out;
    const bool same_place = operands[o].offset == 0 && results.offset == 0 && plan.dense;
    if (same_place && loops.strides[o] == loops.strides.back()) step.overwritable.push_back(v);
    bind_from(v, operands[o].offset);
  }
  if (!plan.dense) std::ranges::copy(loops.strides.back(), at);
  for (ValueId v : results.values) bind_from(v, results.offset);
  step.plan = plan;
  return {};
}

}  // namespace hone
