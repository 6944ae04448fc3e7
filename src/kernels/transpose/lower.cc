// Transposes of planes whose rows and columns change places.
#include <algorithm>

#include "kernels/pointwise/moves.h"
#include "kernels/shapes.h"
#include "kernels/transpose/plan.h"

namespace hone {

Support lower_transpose(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  if (!is_compilable(graph, node)) return {"an operand's element type has no vector load or store"};
  const CollapsedLoops loops = collapse(lowering.shape(node.results[0]),
                                        {transposed_strides(lowering, node), lowering.strides(node.results[0])});
  const Shape &extents = loops.extents, &from = loops.strides[0], &to = loops.strides[1];
  const auto run = static_cast<size_t>(std::ranges::find(from, Dim(1)) - from.begin());
  const size_t last = extents.size() - 1;
  if (extents.size() > 3 || run >= last || !(to[last] == Dim(1))) return {"more than rows and columns change places"};
  TransposePlan plan;
  plan.element_bytes = static_cast<int>(size_bytes(graph.type(node.results[0]).dtype));
  const auto constant_or_zero = [](const Dim& extent) { return extent.is_constant() ? extent.constant() : 0; };
  plan.rows = constant_or_zero(extents[last]), plan.columns = constant_or_zero(extents[run]);
  const size_t outer = 1 - run;  // of three loops
  const bool planes = extents.size() == 3;
  const Dim numbers[] = {planes ? extents[outer] : Dim(1), extents[last], extents[run], planes ? from[outer] : Dim(0),
                         planes ? to[outer] : Dim(0),      from[last],    to[run]};
  std::vector<Extent> dims;
  for (const Dim& number : numbers) dims.push_back(lowering.extent(number));
  lowering.bind(step, node.operands[0]);
  lowering.bind(step, node.results[0]);
  step.plan = plan;
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    std::ranges::transform(dims, placed.dims.begin(), [&](Extent e) { return sizes.of(e); });
    return Support{};
  };
  return {};
}

}  // namespace hone
