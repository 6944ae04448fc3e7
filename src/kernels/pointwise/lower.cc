// Pointwise groups, and the kernels over elements that moves are, too.
#include <algorithm>

#include "ir/pointwise.h"
#include "kernels/lowering.h"
#include "kernels/pointwise/moves.h"
#include "kernels/program_uses.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// Loops over elements that decide no bits, in the order in which a result that lies apart has them together.
void order_loops(Shape& extents, std::vector<Strided>& operands, Strided& results) {
  const auto along = std::ranges::find(results.strides, Dim(1));
  if (along == results.strides.end()) return;
  const auto to_end = [axis = along - results.strides.begin()](Shape& numbers) {
    std::rotate(numbers.begin() + axis, numbers.begin() + axis + 1, numbers.end());
  };
  to_end(extents);
  for (Strided& operand : operands) to_end(operand.strides);
  to_end(results.strides);
}

}  // namespace

Support lower_pointwise(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  if (graph.node(step.group.nodes[0]).op->moves) return lower_moves(lowering, prepared);
  for (NodeId n : step.group.nodes)
    if (!is_compilable(graph, graph.node(n))) return {"an operand's element type has no vector load or store"};
  ExprBuilderForGroup builder(graph, 0);
  for (NodeId n : step.group.nodes) builder.apply(n);
  PointwisePlan plan;
  plan.program = program_of(builder, graph, step.group.results);
  const Shape result = lowering.shape(step.group.results[0]);
  std::vector<Strided> operands;
  for (ValueId v : builder.operands()) {
    std::optional<Shape> strides = broadcast_strides(lowering.shape(v), lowering.strides(v), result);
    if (!strides) return {fmt::format("%{} may be broadcast or not", graph.value(v).name)};
    operands.push_back({{v}, std::move(*strides)});
  }
  return lower_elements(lowering, prepared, plan, result, operands, step.group.results);
}

Support lower_elements(const Lowering& lowering, Prepared& prepared, const PointwisePlan& plan, Shape extents,
                       std::vector<Strided> operands, const std::vector<ValueId>& values) {
  Strided results{values, lowering.strides(values[0])};
  for (ValueId v : values)
    if (!(lowering.strides(v) == results.strides)) return {"results that do not lie alike"};
  if (lowering.lies_apart(values[0])) {
    if (uses_index(plan.program)) return {"the element's index in a result whose elements lie apart"};
    order_loops(extents, operands, results);
  }
  return lower_strided(lowering, prepared, plan, extents, operands, results);
}

Support lower_strided(const Lowering& lowering, Prepared& prepared, PointwisePlan plan, const Shape& extents,
                      const std::vector<Strided>& operands, const Strided& results) {
  using Inner = PointwisePlan::Inner;
  const Graph& graph = lowering.graph;
  StepDraft& step = prepared.steps.back();
  std::vector<Shape> all;
  for (const Strided& operand : operands) all.push_back(operand.strides);
  all.push_back(results.strides);
  CollapsedLoops loops = collapse(extents, all);
  const Dim one = 1;
  if (!(loops.strides.back().back() == one) && !(loops.extents.back() == one)) {  // rows of one element each
    loops.extents.push_back(1);
    for (Shape& strides : loops.strides) strides.push_back(&strides == &loops.strides.back() ? 1 : 0);
  }
  plan.rank = static_cast<int>(loops.extents.size());
  if (plan.rank > 6) return {"more than six dimensions that don't merge"};
  plan.dense = element_count(extents) == one || loops.strides.back() == dense_strides(loops.extents);
  plan.results = lowering.dtypes(results.values);
  std::vector<Extent> all_sizes;
  const auto add = [&](const Shape& numbers) {
    for (const Dim& number : numbers) all_sizes.push_back(lowering.extent(number));
  };
  const auto bind_from = [&](ValueId v, int64_t offset) {
    lowering.bind(step, v, Plane::data, offset == 0 ? 0 : offset * size_bytes(graph.type(v).dtype));
  };
  add(loops.extents);
  for (size_t o = 0; o < operands.size(); ++o) {
    const ValueId v = operands[o].values[0];
    const Dim& inner = loops.strides[o].back();
    plan.operands.push_back({graph.type(v).dtype, inner == Dim(0) ? Inner::broadcast
                                                  : inner == one  ? Inner::contiguous
                                                                  : Inner::strided});
    add(loops.strides[o]);
    const bool same_place = operands[o].offset == 0 && results.offset == 0 && plan.dense;
    if (same_place && loops.strides[o] == loops.strides.back()) step.overwritable.push_back(v);
    bind_from(v, operands[o].offset);
  }
  if (!plan.dense) add(loops.strides.back());
  for (ValueId v : results.values) bind_from(v, results.offset);
  if (all_sizes.size() > PointwiseKernelArgs().sizes.size())
    return {fmt::format("{} extents and strides", all_sizes.size())};
  step.plan = plan;
  const auto write = [](const std::vector<Extent>& numbers, const auto& value, StepCall& placed) {
    PointwiseKernelArgs args;
    std::ranges::transform(numbers, args.sizes.begin(), value);
    placed.set(args);
  };
  if (std::ranges::all_of(all_sizes, &Extent::is_constant)) {
    write(all_sizes, &Extent::number, step);
    return {};
  }
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    write(
        all_sizes, [&](Extent e) { return sizes.of(e); }, placed);
    return Support{};
  };
  return {};
}

}  // namespace hone
