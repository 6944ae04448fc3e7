// Running sums and products of dense values.
#include "kernels/lowering.h"
#include "kernels/running/plan.h"
#include "kernels/shapes.h"
#include "ops/calls/cumsum.h"
#include "ops/calls/reduce.h"

namespace hone {
namespace {

// Along the axis that an attribute or a constant says; why not otherwise.
struct Along {
  Support support;
  AxisRun run;
};

Along along_axis(const Lowering& lowering, const Node& node, const Shape& shape) {
  const ValueId given = node.operands.size() > 1 ? node.operands[1] : kNone;
  int64_t axis = node.attributes.get_or<int64_t>("axis", -1);
  if (given != kNone) {
    const Tensor* known = lowering.constant(given);
    if (!known || known->elements() != 1) return {{"an axis that is computed"}, {}};
    axis = known->to_integers()[0];
  }
  if (axis < 0) axis += std::ssize(shape);
  if (axis < 0 || axis >= std::ssize(shape)) return {{"an axis that x lacks"}, {}};
  const auto at = shape.begin() + axis;
  return {{}, {element_count(Shape(shape.begin(), at)), *at, element_count(Shape(at + 1, shape.end()))}};
}

RunningPlan::Joins joins_of(const OpDef* op) {
  using Joins = RunningPlan::Joins;
  if (op == &cumsum_def || op == &reduce_sum_def) return Joins::sum;
  return op == &reduce_max_def ? Joins::max : op == &reduce_min_def ? Joins::min : Joins::product;
}

}  // namespace

Support lower_running(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId x = node.operands[0];
  if (step.group.nodes.size() > 1) return {"a group with other nodes"};  // made for rows or columns
  if (graph.type(x).is_packed()) return {"running sums of packed elements"};
  const Shape shape = lowering.shape(x);
  const bool whole = node.op != &cumsum_def && node.op != &cumprod_def;
  Along along;
  if (!whole) along = along_axis(lowering, node, shape);
  else if (const std::optional<AxisRun> run = reduced_run(node, shape)) along.run = *run;
  else return {"axes that are computed, or do not lie together"};
  if (!along.support.supported()) return along.support;
  const auto& [outer, length, inner] = along.run;
  const auto flag = [&](const char* name) { return node.attributes.get_or<int64_t>(name, 0) != 0; };
  step.plan = RunningPlan{.joins = joins_of(node.op),
                          .dtype = graph.type(x).dtype,
                          .exclusive = flag("exclusive"),
                          .reverse = flag("reverse"),
                          .whole = whole,
                          .single = inner == Dim(1)};
  step.lasting = true;
  if (!whole) step.overwritable = {x};
  lowering.bind(step, x);
  lowering.bind(step, node.results[0]);
  const Extent runs = lowering.extent(outer), steps = lowering.extent(length), side_by_side = lowering.extent(inner);
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(RunningArgs{.outer = sizes.of(runs), .length = sizes.of(steps), .inner = sizes.of(side_by_side)});
    return Support{};
  };
  return {};
}

}  // namespace hone
