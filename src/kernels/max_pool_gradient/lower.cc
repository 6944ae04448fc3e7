// Gradients of largest elements over channels-last planes.
#include "kernels/kernel_sizes.h"
#include "kernels/lowering.h"
#include "kernels/max_pool_gradient/plan.h"
#include "ops/sliding_window.h"

namespace hone {

Support lower_max_pool_gradient(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const NodeId n = step.group.anchor;
  const Node& node = graph.node(n);
  const ValueId x = node.operands[0], d = node.operands[1];
  const Shape shape = lowering.shape(x);
  if (!channels_last(node.attributes) || shape.size() < 3 || shape.size() > 4)
    return {"its channels are not the last of three or four dimensions"};
  if (!shape.back().is_constant()) return {"an open number of channels"};
  for (ValueId v : {x, d})
    if (graph.type(v).is_packed()) return {fmt::format("%{} is a packed constant", graph.value(v).name)};
  const auto kernel = node.attributes.get<std::vector<int64_t>>("kernel_shape");
  for (int64_t extent : kernel)
    if (extent > kMostPlaces) return {fmt::format("a window {} wide", extent)};
  MaxPoolGradientPlan plan{.window = window_on_any_plane(read_sliding_window(node.attributes, to_shape(kernel))),
                           .channels = shape.back().constant(),
                           .x = graph.type(x).dtype,
                           .d = graph.type(d).dtype};
  step.plan = plan;
  step.lasting = true;
  for (ValueId v : {x, d, node.results[0]}) lowering.bind(step, v);
  prepared.place = [=, &graph](const RunSizes& sizes, StepCall& placed) {
    const auto window = sized_window(graph, n, sizes.shape(x), sizes.shape(d));
    MaxPoolGradientArgs args{.images = window->images};
    on_any_plane(window->plane, args.window);
    placed.set(args);
    return window_support(*window);
  };
  return {};
}

}  // namespace hone
