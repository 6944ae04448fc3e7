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
  const Extent count = lowering.extent(planes ? extents[outer] : Dim(1)), rows = lowering.extent(extents[last]),
               columns = lowering.extent(extents[run]), x_plane = lowering.extent(planes ? from[outer] : Dim(0)),
               out_plane = lowering.extent(planes ? to[outer] : Dim(0)), x_row = lowering.extent(from[last]),
               out_row = lowering.extent(to[run]);
  lowering.bind(step, node.operands[0]);
  lowering.bind(step, node.results[0]);
  step.plan = plan;
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(TransposeKernelArgs{.planes = sizes.of(count),
                                   .rows = sizes.of(rows),
                                   .columns = sizes.of(columns),
                                   .x_plane = sizes.of(x_plane),
                                   .out_plane = sizes.of(out_plane),
                                   .x_row = sizes.of(x_row),
                                   .out_row = sizes.of(out_row)});
    return Support{};
  };
  return {};
}

}  // namespace hone
