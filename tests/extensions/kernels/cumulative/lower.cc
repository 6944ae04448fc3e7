// Running extremes of dense values.
#include "kernels/cumulative/plan.h"
#include "kernels/lowering.h"

namespace hone {

Support lower_cumulative(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId x = node.operands[0], out = node.results[0];
  if (graph.type(x).is_packed()) return {"running extremes of packed elements"};
  const Shape shape = lowering.shape(x);
  const int64_t attribute = node.attributes.get_or<int64_t>("axis", -1),
                axis = attribute < 0 ? attribute + std::ssize(shape) : attribute;
  const Dim inner = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  step.plan = CumulativePlan{.dtype = graph.type(x).dtype,
                             .largest = std::string_view(node.op->name) == "cummax",
                             .reverse = node.attributes.get_or<int64_t>("reverse", 0) != 0,
                             .along = inner == Dim(1)};
  step.lasting = true;
  step.overwritable = {x};
  lowering.bind(step, x);
  lowering.bind(step, out);
  const Extent runs = lowering.count(Shape(shape.begin(), shape.begin() + axis)),
               steps = lowering.extent(shape[static_cast<size_t>(axis)]), side_by_side = lowering.extent(inner);
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(CumulativeArgs{.outer = sizes.of(runs), .length = sizes.of(steps), .inner = sizes.of(side_by_side)});
    return Support{};
  };
  return {};
}

}  // namespace hone
