// Top-k and argmax of dense values.
#include <limits>

#include "kernels/lowering.h"
#include "kernels/top_k/plan.h"
#include "ops/calls/argmax.h"
#include "ops/calls/top_k.h"

namespace hone {

Support lower_top_k(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId x = node.operands[0];
  if (graph.type(x).is_packed()) return {"an order of packed elements"};
  const bool has_values = node.op == &top_k_def;
  const auto number = [&](const char* name, int64_t otherwise) {
    return node.attributes.get_or<int64_t>(name, otherwise);
  };
  const Shape shape = lowering.shape(x);
  const int64_t given = number("axis", -1);
  const auto axis = static_cast<size_t>(given < 0 ? given + std::ssize(shape) : given);
  const Dim k = has_values ? lowering.shape(node.results[0])[axis] : Dim(1);
  TopKPlan plan{.dtype = graph.type(x).dtype, .one = k == Dim(1)};
  if (has_values) {
    plan.largest = number("largest", 1) != 0;
  } else {
    plan.largest = node.op == &argmax_def;
    plan.nan_first = true;
    plan.last_first = number("select_last_index", 0) != 0;
  }
  lowering.bind(step, x);
  lowering.bind(step, has_values ? node.results[0] : kNone, has_values ? Plane::data : Plane::none);
  lowering.bind(step, node.results[has_values ? 1 : 0]);
  step.plan = plan;
  step.lasting = true;
  const auto after = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Extent outer = lowering.count(Shape(shape.begin(), after)), length = lowering.extent(shape[axis]),
               inner = lowering.count(Shape(after + 1, shape.end())), count = lowering.extent(k);
  const int64_t longest = plan.key_bytes() == 8 ? int64_t{1} << 32 : std::numeric_limits<int64_t>::max();
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    const TopKArgs args{
        .outer = sizes.of(outer), .length = sizes.of(length), .inner = sizes.of(inner), .k = sizes.of(count)};
    placed.set(args);
    if (args.k > args.length) return Support{fmt::format("k is {}, and the axis has {} elements", args.k, args.length)};
    if (args.length > longest) return Support{fmt::format("an axis of {} elements", args.length)};
    return Support{};
  };
  return {};
}

}  // namespace hone
