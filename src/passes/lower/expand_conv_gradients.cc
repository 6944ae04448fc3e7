// conv_input_gradient as kernels compute it: with stride 1, and not by single channels. With stride s, what lies at
// positions q * s + p of one phase p along a dimension has to do with every s-th tap at most: its gradient is that of a
// convolution with these taps, of stride 1. The phases of both dimensions are computed one after the other and put
// between each other; one that no tap reaches is zero. A depthwise gradient of stride 1 is a depthwise convolution of d
// with the taps reversed.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/multiples.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/full.h"
#include "ops/calls/pad.h"
#include "ops/calls/quantize.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/strided_slice.h"
#include "ops/calls/transpose.h"
#include "ops/conv_weights.h"
#include "ops/sliding_window.h"
#include "passes/lower/channels_last.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

// Along one dimension. `before` and `after`: the padding of x.
struct Axis {
  Dim size = 1, places = 1;  // of x and of d
  int64_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  // By how much a phase, large enough for x wherever its last window ends, is longer than d.
  int64_t growth() const {
    const int64_t behind = reach() - before - after - 1;
    return behind > 0 ? ceil_div(behind, stride) : -(-behind / stride);
  }
  Dim phase_size() const { return places + growth(); }
};

// Every `step`-th tap from `first` on, on `own`: x between so many zeros before and after it.
struct Phase {
  int64_t first = 0, step = 1;
  Axis own;
  int64_t zeros_before = 0, zeros_after = 0;
};

// None where all is zero.
std::optional<Phase> phase_at(const Axis& axis, int64_t p) {
  const int64_t common = std::gcd(axis.stride, axis.dilation);
  Phase phase{.step = axis.stride / common, .own = axis};
  while (phase.first < axis.kernel && (p + axis.before - phase.first * axis.dilation) % axis.stride != 0) ++phase.first;
  if (phase.first == axis.kernel) return std::nullopt;
  Axis& own = phase.own;
  own.kernel = ceil_div(axis.kernel - phase.first, phase.step);
  own.dilation = axis.dilation / common, own.stride = 1;
  const int64_t before = (p + axis.before - phase.first * axis.dilation) / axis.stride,
                after = own.reach() - 1 - axis.growth() - before;
  own.before = std::max<int64_t>(before, 0), own.after = std::max<int64_t>(after, 0);
  phase.zeros_before = own.before - before, phase.zeros_after = own.after - after;
  own.size = axis.phase_size() - (phase.zeros_before + phase.zeros_after);
  if (own.size.is_constant() && own.size.constant() < 1) return std::nullopt;
  return phase;
}

struct Gradient {
  ValueId d, w;
  Axis down, across;
  int64_t groups;
  DType dtype;
};

constexpr int64_t kMost = 1 << 20, kMostPhases = 64;  // far beyond real windows; keeps sums of them small

std::optional<Gradient> gradient_of(const Graph& graph, const Node& node) {
  const TensorType &d = graph.type(node.operands[0]), &w = graph.type(node.operands[1]);
  const Shape& sizes = node.attributes.get<Shape>("sizes");
  if (channels_last(node.attributes) || !w.ranked || d.rank() < 3 || d.rank() > 4) return std::nullopt;
  const Shape places = spatial(d.shape), kernel = spatial(conv_weight_shape(node.attributes, w.shape));
  if (!is_constant(kernel)) return std::nullopt;
  const SlidingWindow window = read_sliding_window(node.attributes, kernel);
  Gradient gradient{.d = node.operands[0],
                    .w = node.operands[1],
                    .groups = node.attributes.get_or<int64_t>("groups", 1),
                    .dtype = graph.type(node.results[0]).dtype};
  if (window.same != SlidingWindow::Same::no && (!is_constant(sizes) || !is_constant(places))) return std::nullopt;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Axis& axis = i + 1 == sizes.size() ? gradient.across : gradient.down;
    axis = {.size = sizes[i],
            .places = places[i],
            .kernel = kernel[i].constant(),
            .stride = window.strides[i],
            .dilation = window.dilations[i],
            .before = window.pads[i],
            .after = window.pads[i + sizes.size()]};
    if (window.same != SlidingWindow::Same::no) {
      const SlidingWindowOnPlane on_plane(window, constant_shape(sizes), constant_shape(places));
      axis.before = -on_plane.start(0)[3 - sizes.size() + i];
      const Dim reached = (axis.places - 1) * axis.stride + (axis.reach() - axis.before) - axis.size;
      axis.after = std::max<int64_t>(reached.constant(), 0);
    }
    for (int64_t number : {axis.kernel, axis.stride, axis.dilation, axis.before, axis.after})
      if (number < 0 || number > kMost) return std::nullopt;
    for (const Dim& dim : {axis.size, axis.places})
      if (dim.is_constant() && (dim.constant() < 1 || dim.constant() > kMost)) return std::nullopt;
  }
  if (gradient.down.stride * gradient.across.stride > kMostPhases) return std::nullopt;
  return gradient;
}

// d [N,H,W,O] and the result [N,H,W,C], of stride 1.
ValueId emit_gradient(Graph& graph, const Gradient& g) {
  const Axis &y = g.down, &x = g.across;
  const auto list = [&](int64_t Axis::*of) { return List{y.*of, x.*of}; };
  const Shape& w = graph.type(g.w).shape;
  const auto fits = [](const Axis& axis) { return axis.reach() > axis.before && axis.reach() > axis.after; };
  if (g.groups > 1 && w[0] == Dim(g.groups) && w[1] == Dim(1) && fits(y) && fits(x)) {
    const int64_t last = -1, beyond = std::numeric_limits<int32_t>::min();
    const ValueId reversed = ops::strided_slice(graph, {.x = g.w,
                                                        .starts = Shape{last, last},
                                                        .ends = Shape{beyond, beyond},
                                                        .axes = List{2, 3},
                                                        .steps = Shape{-1, -1}});
    return ops::conv(graph, {.x = g.d,
                             .w = reversed,
                             .pads = List{y.reach() - 1 - y.before, x.reach() - 1 - x.before, y.reach() - 1 - y.after,
                                          x.reach() - 1 - x.after},
                             .dilations = list(&Axis::dilation),
                             .groups = g.groups,
                             .channels_last = 1});
  }
  return ops::conv_input_gradient(graph, {.d = g.d,
                                          .w = g.w,
                                          .pads = List{y.before, x.before, y.after, x.after},
                                          .dilations = list(&Axis::dilation),
                                          .groups = g.groups,
                                          .channels_last = 1,
                                          .sizes = Shape{y.size, x.size}});
}

ValueId emit_phase(Graph& graph, const Gradient& g, int64_t down, int64_t across) {
  const std::optional<Phase> y = phase_at(g.down, down), x = phase_at(g.across, across);
  const Dim channels = graph.type(g.w).shape[1] * g.groups;
  if (!y || !x)
    return ops::full(graph,
                     {.shape = Shape{graph.type(g.d).shape[0], g.down.phase_size(), g.across.phase_size(), channels},
                      .value = 0,
                      .dtype = g.dtype});
  Gradient own = g;
  own.down = y->own, own.across = x->own;
  if (y->own.kernel != g.down.kernel || x->own.kernel != g.across.kernel)
    own.w = ops::slice(graph, {.x = g.w,
                               .starts = Shape{y->first, x->first},
                               .ends = Shape{g.down.kernel, g.across.kernel},
                               .axes = List{2, 3},
                               .steps = List{y->step, x->step}});
  const ValueId phase = emit_gradient(graph, own);
  const Shape zeros{y->zeros_before, x->zeros_before, y->zeros_after, x->zeros_after};
  if (std::ranges::all_of(zeros, [](const Dim& dim) { return dim == Dim(0); })) return phase;
  return ops::pad(graph, {.x = phase, .pads = zeros, .axes = List{1, 2}});
}

// [O,C/groups,...], unpacked: their transpose is read.
ValueId plain_weights(Graph& graph, ValueId w, const Attributes& attributes) {
  if (graph.type(w).is_packed()) w = ops::dequantize(graph, {w});
  const Shape shape = conv_weight_shape(attributes, graph.type(w).shape);
  if (graph.type(w).rank() == shape.size()) return w;
  Shape with_channels_last{shape[0]};
  with_channels_last.insert(with_channels_last.end(), shape.begin() + 2, shape.end());
  with_channels_last.push_back(shape[1]);
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  List perm{0, last};
  for (int64_t i = 1; i < last; ++i) perm.push_back(i);
  return ops::transpose(graph, {.x = ops::reshape(graph, {.x = w, .shape = with_channels_last}), .perm = perm});
}

void expand(Graph& graph, NodeId id, Gradient g) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.results[0]);
  graph.set_insertion_point(id);
  g.d = to_channels_last(graph, g.d);
  g.w = plain_weights(graph, g.w, node.attributes);
  if (type.rank() == 3) g.w = ops::unsqueeze(graph, {.x = g.w, .axes = List{2}});
  ValueId x = kNone;
  if (g.down.stride * g.across.stride == 1) {
    x = emit_gradient(graph, g);
  } else {
    std::vector<ValueId> phases;
    for (int64_t down = 0; down < g.down.stride; ++down)
      for (int64_t across = 0; across < g.across.stride; ++across) phases.push_back(emit_phase(graph, g, down, across));
    x = interleaved(graph, ops::concat(graph, {.inputs = phases, .axis = 3}), g.down.stride, g.across.stride);
    const auto is_whole = [](const Axis& axis) { return axis.phase_size() * axis.stride == axis.size; };
    if (!is_whole(g.down) || !is_whole(g.across))
      x = ops::slice(graph,
                     {.x = x, .starts = Shape{0, 0}, .ends = Shape{g.down.size, g.across.size}, .axes = List{1, 2}});
  }
  x = to_channels_first(graph, x, type.rank());
  graph.refine_type(x, type);
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, x);
}

Graph expand_conv_gradients(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(conv_input_gradient_def))
    if (const std::optional<Gradient> gradient = gradient_of(graph, graph.node(id))) expand(graph, id, *gradient);
  return graph;
}

}  // namespace

extern constinit const PassDef expand_conv_gradients_def{
    .name = "expand_conv_gradients",
    .doc =
        "conv_input_gradient over one or two dimensions → gradients of stride 1 over channels-last planes, one for "
        "each "
        "phase of the stride, put between each other; a depthwise one → a depthwise conv with reversed taps.",
    .run = expand_conv_gradients};

}  // namespace hone
