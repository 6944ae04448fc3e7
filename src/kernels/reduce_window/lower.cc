// Pools and depthwise convolutions.
#include <algorithm>

#include "base/multiples.h"
#include "kernels/kernel_sizes.h"
#include "kernels/lowering.h"
#include "kernels/plane_window.h"
#include "kernels/reduce_window/plan.h"
#include "kernels/shapes.h"
#include "ops/calls/conv.h"
#include "ops/calls/pool.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

// How many taps lie in [lo, hi) at each place.
std::vector<int64_t> taps_within(int64_t places, int64_t stride, int64_t before, int64_t taps, int64_t dilation,
                                 int64_t lo, int64_t hi) {
  std::vector<int64_t> counts;
  for (int64_t place = 0; place < places; ++place) {
    const int64_t at = place * stride - before;
    const int64_t first = at >= lo ? 0 : ceil_div(lo - at, dilation), end = at >= hi ? 0 : ceil_div(hi - at, dilation);
    counts.push_back(std::max<int64_t>(std::min(end, taps) - first, 0));
  }
  return counts;
}

// The number that a mean divides by: a constant where it is the same at all places.
Expr counted_taps(ReduceWindowPlan& plan, const SizedWindow& placed, bool with_padding) {
  const PlaneWindow& p = plan.plane;
  const int64_t top = with_padding ? p.pad_top : 0, bottom = with_padding ? placed.pad_bottom : 0,
                left = with_padding ? p.pad_left : 0, right = with_padding ? placed.pad_right : 0;
  std::vector<int64_t> down = taps_within(p.out_height, p.stride_y, p.pad_top, p.kernel_height, p.dilation_y, -top,
                                          p.height + bottom),
                       across = taps_within(p.out_width, p.stride_x, p.pad_left, p.kernel_width, p.dilation_x, -left,
                                            p.width + right);
  const auto same = [](const std::vector<int64_t>& counts) {
    return std::ranges::all_of(counts, [&](int64_t count) { return count == counts[0]; });
  };
  if (same(down) && same(across)) return Expr(static_cast<float>(down[0] * across[0]));
  plan.taps_down = std::move(down), plan.taps_across = std::move(across);
  return Expr::arg(1, Scalar::f32);
}

std::array<int64_t, 4> sides_of(const CountedPadding& counted) {
  return {counted.top, counted.left, counted.bottom, counted.right};
}

}  // namespace

void for_any_plane(ReduceWindowPlan& plan, ReduceWindowArgs& args, const CountedPadding& counted, bool any_kernel) {
  plan.plane = on_any_plane(plan.plane, args.window);
  if (any_kernel) plan.plane.kernel_height = plan.plane.kernel_width = 0;
  args.counted = sides_of(counted);
  plan.taps_down.clear(), plan.taps_across.clear();
  plan.any_plane = true;
}

Support lower_window(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const NodeId n = step.group.anchor;
  const Node& node = graph.node(n);
  const OpDef* const op = node.op;
  const ValueId x = node.operands[0], y = node.results[0];
  const Shape x_shape = lowering.shape(x), y_shape = lowering.shape(y);
  if (!channels_last(node.attributes) || x_shape.size() < 3 || x_shape.size() > 4)
    return {"its channels are not the last of three or four dimensions"};
  if (!x_shape.back().is_constant()) return {"an open number of channels"};
  const bool any_plane = has_open_plane(x_shape, y_shape);
  ReduceWindowPlan plan;
  plan.channels = x_shape.back().constant();
  plan.x = graph.type(x).dtype;
  if (graph.type(x).is_packed()) return {"a packed constant under a window"};
  const bool codes = op == &conv_def && !is_float(plan.x);
  const Scalar scalar = codes ? Scalar::i32 : compute_scalar(plan.x);
  Expr value = Expr::arg(0, scalar);
  ValueId bias = kNone;
  const bool with_padding = node.attributes.get_or<int64_t>("count_include_pad", 0) != 0;
  lowering.bind(step, x);
  if (op == &conv_def) {
    const ValueId w = node.operands[1];
    if (!is_constant(lowering.shape(w))) return {"weights whose sizes are open"};
    const std::vector<int64_t> shape = lowering.fixed_shape(w);
    const int64_t groups = node.attributes.get_or<int64_t>("groups", 1);
    if (groups != plan.channels || shape[0] != plan.channels) return {"a convolution that is not depthwise"};
    if (graph.type(w).is_packed() && (codes || shape.size() != 2)) return {"packed weights that are no matrix"};
    plan.reduction = ReduceWindowPlan::Reduction::products;
    if (graph.type(w).is_packed()) plan.w_format = to_string(*graph.type(w).format);
    if (node.operands.size() > 2) bias = node.operands[2];
    lowering.bind(step, w, Plane::prepacked);
  } else {
    plan.reduction = op == &max_pool_def ? ReduceWindowPlan::Reduction::max : ReduceWindowPlan::Reduction::sum;
    if (op == &avg_pool_def) {
      Expr counted = Expr::arg(1, Scalar::f32);
      if (!any_plane) {
        const auto window = sized_window(graph, n, with_ones_for_open(x_shape), with_ones_for_open(y_shape));
        if (const Support r = window_support(*window); !r.supported()) return r;
        plan.plane = window->plane;
        counted = counted_taps(plan, *window, with_padding);
      }
      value = value / cast(scalar, counted);
    }
    lowering.bind(step, kNone, Plane::none);
  }
  if (Support r = lowering.epilogue(step, plan, value, 2, bias, false); !r.supported()) return r;
  plan.has_x_zero = codes && node.operands.size() > 3 && node.operands[3] != kNone;
  if (plan.has_x_zero) lowering.bind(step, node.operands[3]);
  step.overwritable.clear();  // a device may compute some channels twice
  plan.plane = sized_window(graph, n, with_ones_for_open(x_shape), with_ones_for_open(y_shape))->plane;
  if (any_plane) {
    ReduceWindowArgs open;
    for_any_plane(plan, open);
    step.set(open);
  }
  step.plan = plan;
  step.lasting = true;
  prepared.place = [=, &graph](const RunSizes& sizes, StepCall& placed) {
    const auto window = sized_window(graph, n, sizes.shape(x), sizes.shape(y));
    if (const Support r = window_support(*window); !r.supported()) return r;
    ReduceWindowArgs args{.images = window->images};
    const PlaneWindow& p = window->plane;
    if (any_plane) on_any_plane(p, args.window);
    if (any_plane && with_padding)
      args.counted = sides_of({p.pad_top, p.pad_left, window->pad_bottom, window->pad_right});
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
