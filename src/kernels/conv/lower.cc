// Convolutions over channels-last planes.
#include <algorithm>
#include <utility>

#include "kernels/conv/plan.h"
#include "kernels/kernel_sizes.h"
#include "kernels/lowering.h"
#include "kernels/plane_window.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/conv_transpose.h"
#include "ops/sliding_window.h"
#include "passes/lower/expand_conv_transpose.h"

namespace hone {
namespace {

// The window of the gradient of x, which goes over d with zeros around it: sizes of x and of the result change places.
Support turn(SizedWindow& window) {
  PlaneWindow& p = window.plane;
  const int64_t below = (p.kernel_height - 1) * p.dilation_y, behind = (p.kernel_width - 1) * p.dilation_x;
  if (p.pad_top > below || p.pad_left > behind) return {"its padding is wider than its window"};
  std::swap(p.height, p.out_height), std::swap(p.width, p.out_width);
  p.pad_top = below - p.pad_top, p.pad_left = behind - p.pad_left;
  window.pad_bottom = p.out_height - 1 - p.pad_top + below + 1 - p.height;
  window.pad_right = p.out_width - 1 - p.pad_left + behind + 1 - p.width;
  return {};
}

bool has_one_stride(const Attributes& attributes) {
  const auto strides = attributes.get_or<std::vector<int64_t>>("strides", {});
  return std::ranges::all_of(strides, [](int64_t stride) { return stride == 1; });
}

}  // namespace

bool leaves_plane(const PlaneWindow& w) {
  const auto outside = [](int64_t places, int64_t stride, int64_t kernel, int64_t dilation, int64_t before,
                          int64_t extent) {
    return before > 0 || (places - 1) * stride + (kernel - 1) * dilation + 1 > extent;
  };
  return outside(w.out_height, w.stride_y, w.kernel_height, w.dilation_y, w.pad_top, w.height) ||
         outside(w.out_width, w.stride_x, w.kernel_width, w.dilation_x, w.pad_left, w.width);
}

void for_any_plane(ConvPlan& plan, WindowSizes& sizes) {
  plan.leaves_plane = plan.leaves_plane || leaves_plane(plan.window);
  plan.window = on_any_plane(plan.window, sizes);
  plan.any_plane = true;
}

Support lower_conv(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const NodeId n = step.group.anchor;
  const Node& node = graph.node(n);
  if (node.op == &conv_transpose_def)
    return {fmt::format("no code generation for conv_transpose with {}", why_not_convolutions(graph, node))};
  const ValueId x = node.operands[0], w = node.operands[1], y = node.results[0];
  const Shape x_shape = lowering.shape(x), y_shape = lowering.shape(y);
  if (!channels_last(node.attributes) || x_shape.size() < 3 || x_shape.size() > 4)
    return {"its channels are not the last of three or four dimensions"};
  if (!x_shape.back().is_constant() || !y_shape.back().is_constant()) return {"open numbers of channels"};
  if (!is_constant(lowering.shape(w))) return {"weights whose sizes are open"};
  const int64_t groups = node.attributes.get_or<int64_t>("groups", 1), channels = x_shape.back().constant(),
                outputs = y_shape.back().constant();
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0)
    return {fmt::format("{} groups of {} channels and {} outputs", groups, channels, outputs)};
  if (graph.type(x).is_packed()) return {"x is a packed constant"};
  const bool codes = !is_float(graph.type(x).dtype);
  if (!codes && graph.type(y).dtype != DType::f32) return {fmt::format("sums of {}", to_string(graph.type(y).dtype))};
  if (codes)
    if (Support r = lowering.open_sizes(step.group); !r.supported()) return r;
  if (groups > 1 && groups == channels && groups == outputs) return {"a depthwise convolution"};
  ConvPlan plan;
  plan.turned = node.op == &conv_input_gradient_def;
  if (plan.turned && !has_one_stride(node.attributes)) return {"a gradient between strides"};
  if (plan.turned && graph.type(w).rank() != x_shape.size()) return {"weights that are a matrix"};
  if (plan.turned && graph.type(w).is_packed()) return {"packed weights, whose transpose is read"};
  const bool one_tap = plan.turned && element_count(spatial(graph.type(w).shape)) == Dim(1);
  plan.leaves_plane = has_padding(graph, n) || (plan.turned && !one_tap);
  plan.groups = groups;
  plan.planes = node.attributes.get_or<int64_t>("planes", 1);
  plan.channels = channels / groups;
  plan.product.n = outputs / groups;
  plan.product.a = graph.type(x).dtype;
  const TensorType& weights = graph.type(w);
  if (weights.is_packed()) plan.product.w_format = to_string(*weights.format);
  else plan.product.w = weights.dtype;
  if (groups > 1) plan.product.result_row_stride = outputs;
  lowering.bind(step, x);
  lowering.bind(step, w, Plane::prepacked);
  const ValueId bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  const Expr sum = Expr::arg(0, codes ? Scalar::i32 : Scalar::f32);
  if (Support r = lowering.epilogue(step, plan.product, sum, 1, bias, false); !r.supported()) return r;
  plan.has_x_zero = node.operands.size() > 3 && node.operands[3] != kNone;
  if (plan.has_x_zero) lowering.bind(step, node.operands[3]);
  const bool turned = plan.turned, any_plane = has_open_plane(x_shape, y_shape);
  SizedWindow now = *sized_window(graph, n, with_ones_for_open(turned ? y_shape : x_shape),
                                  with_ones_for_open(turned ? x_shape : y_shape));
  if (turned && !any_plane)
    if (Support r = turn(now); !r.supported()) return r;
  plan.window = now.plane;
  plan.product.k = plan.window.taps() * plan.channels;
  if (any_plane) {
    ConvArgs open;
    plan.window = on_any_plane(now.plane, open.window), plan.any_plane = true;
    step.set(open);
  }
  step.plan = plan;
  step.lasting = true;
  prepared.place = [=, &graph](const RunSizes& sizes, StepCall& placed) {
    auto window = sized_window(graph, n, sizes.shape(turned ? y : x), sizes.shape(turned ? x : y));
    if (turned)
      if (Support r = turn(*window); !r.supported()) return r;
    if (const Support r = window_support(*window); !r.supported()) return r;
    ConvArgs args{.rows = window->images * window->plane.out_height * window->plane.out_width,
                  .images = window->images};
    if (any_plane) on_any_plane(window->plane, args.window);
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
