// Weight gradients over channels-last planes.
#include "kernels/conv_weight_gradient/plan.h"
#include "kernels/kernel_sizes.h"
#include "kernels/lowering.h"
#include "ops/sliding_window.h"

namespace hone {
Support lower_conv_weight_gradient(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const NodeId n = step.group.anchor;
  const Node& node = graph.node(n);
  const ValueId d = node.operands[0], x = node.operands[1], w = node.results[0];
  const Shape d_shape = lowering.shape(d), x_shape = lowering.shape(x);
  if (!channels_last(node.attributes) || x_shape.size() < 3 || x_shape.size() > 4)
    return {"its channels are not the last of three or four dimensions"};
  if (!x_shape.back().is_constant() || !d_shape.back().is_constant()) return {"open numbers of channels"};
  for (ValueId v : {d, x})
    if (graph.type(v).is_packed()) return {fmt::format("%{} is a packed constant", graph.value(v).name)};
  const auto kernel = node.attributes.get<std::vector<int64_t>>("kernel_shape");
  constexpr int64_t kWidest = 4096;
  for (int64_t extent : kernel)
    if (extent > kWidest) return {fmt::format("a window {} wide", extent)};
  ConvWeightGradientPlan plan;
  plan.window = window_on_any_plane(read_sliding_window(node.attributes, to_shape(kernel)));
  plan.only_places = plan.window.taps() == 1 && !has_padding(graph, n);
  plan.groups = node.attributes.get_or<int64_t>("groups", 1);
  plan.channels = x_shape.back().constant() / plan.groups, plan.outputs = d_shape.back().constant() / plan.groups;
  plan.d = graph.type(d).dtype, plan.x = graph.type(x).dtype;
  plan.matrix = node.attributes.get_or<int64_t>("matrix", 0) != 0;
  if (plan.elements() == 0) return {"it has no elements"};
  step.plan = plan;
  step.lasting = true;
  for (ValueId operand : {d, x}) lowering.bind(step, operand);
  lowering.bind(step, kNone, Plane::none);
  lowering.bind(step, w);
  prepared.place = [=, &graph](const RunSizes& sizes, StepCall& placed) {
    const auto window = sized_window(graph, n, sizes.shape(x), sizes.shape(d));
    ConvWeightGradientArgs args{.images = window->images};
    on_any_plane(window->plane, args.window);
    placed.set(args);
    return window_support(*window);
  };
  return {};
}

}  // namespace hone
