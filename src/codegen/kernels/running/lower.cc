// Running sums and products of dense values.
#include "codegen/kernels/running/plan.h"
#include "codegen/lowering.h"
#include "ops/calls.h"

namespace hone {

Support lower_running(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId x = node.operands[0], given = node.operands.size() > 1 ? node.operands[1] : kNone;
  if (graph.type(x).is_packed()) return {"running sums of packed elements"};
  int64_t axis = node.attributes.get_or<int64_t>("axis", -1);
  if (given != kNone) {
    const Tensor* known = lowering.constant(given);
    if (!known || known->elements() != 1) return {"an axis that is computed"};
    axis = known->to_integers()[0];
  }
  const Shape shape = lowering.shape(x);
  if (axis < 0) axis += std::ssize(shape);
  if (axis < 0 || axis >= std::ssize(shape)) return {"an axis that x lacks"};
  const Dim inner = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  const auto flag = [&](const char* name) { return node.attributes.get_or<int64_t>(name, 0) != 0; };
  step.plan = RunningPlan{.dtype = graph.type(x).dtype,
                          .product = node.op == &cumprod_def,
                          .exclusive = flag("exclusive"),
                          .reverse = flag("reverse"),
                          .single = inner == Dim(1)};
  step.lasting = true;
  step.overwritable = {x};
  lowering.bind(step, x);
  lowering.bind(step, node.results[0]);
  const Extent extents[] = {lowering.count(Shape(shape.begin(), shape.begin() + axis)),
                            lowering.extent(shape[static_cast<size_t>(axis)]), lowering.extent(inner)};
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    for (size_t i = 0; i < std::size(extents); ++i) placed.dims[i] = sizes.of(extents[i]);
    return Support{};
  };
  return {};
}

}  // namespace hone
