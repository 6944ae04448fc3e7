// conv, its gradients, max_pool and avg_pool over three spatial dimensions as the same over two. A pool goes over the
// planes first and then from plane to plane. A convolution sees the planes under its window as further channels: its K
// holds all of a window in one product, at the price of as many copies of x as the window is deep. So do its gradients:
// that of the weights sees the same channels, that of x, for each phase of the stride along the depth, the planes of d
// that the window had given from these.
#include <algorithm>

#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/full.h"
#include "ops/calls/pad.h"
#include "ops/calls/pool.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "ops/sliding_window.h"
#include "passes/lower/channels_last.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

// Of three spatial dimensions as attributes have them: those from `first` on, `count` of them, behind `in_front`.
List part(const List& all, size_t first, size_t count) {
  return {all.begin() + static_cast<ptrdiff_t>(first), all.begin() + static_cast<ptrdiff_t>(first + count)};
}
List pads_of(const SlidingWindow& window, size_t first, size_t count) {
  List pads = part(window.pads, first, count);
  const List after = part(window.pads, 3 + first, count);
  pads.insert(pads.end(), after.begin(), after.end());
  return pads;
}

// The attributes of a pool that goes over only two of the dimensions, given those of one that does over three.
Attributes pool_attributes(const Attributes& attributes, const SlidingWindow& window, bool planes) {
  Attributes two = attributes;
  const auto along = [&](const char* name, const List& all, int64_t none) {
    two.set(name, planes ? part(all, 1, 2) : List{all[0], none});
  };
  along("kernel_shape", constant_shape(window.kernel), 1);
  along("strides", window.strides, 1);
  along("dilations", window.dilations, 1);
  if (window.same != SlidingWindow::Same::no) return two;  // pads follow from the sizes
  if (planes) two.set("pads", pads_of(window, 1, 2));
  else two.set("pads", List{window.pads[0], 0, window.pads[3], 0});
  return two;
}

void expand_pool(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.results[0]);
  const Shape x = graph.type(node.operands[0]).shape, y = type.shape;
  const SlidingWindow window =
      read_sliding_window(node.attributes, to_shape(node.attributes.get<List>("kernel_shape")));
  graph.set_insertion_point(id);
  const auto reshaped = [&](ValueId v, Shape shape) {
    return ops::reshape(graph, {.x = v, .shape = std::move(shape)});
  };
  ValueId v = reshaped(node.operands[0], {x[0], x[1] * x[2], x[3], x[4]});
  v = graph.emit(*node.op, {v}, pool_attributes(node.attributes, window, true));
  v = reshaped(v, {x[0], x[1], x[2], y[3] * y[4]});
  v = graph.emit(*node.op, {v}, pool_attributes(node.attributes, window, false));
  v = reshaped(v, y);
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, v);
}

// Volumes [N,D,H,W,C] as one image for each plane, with the channels of all of them: those of one together, or, in
// groups, those that are a channel's.
ValueId as_images(Graph& graph, std::vector<ValueId> volumes, bool grouped) {
  const Shape shape = graph.type(volumes[0]).shape;
  const auto count = static_cast<int64_t>(volumes.size());
  for (ValueId& v : volumes)
    if (grouped) v = ops::unsqueeze(graph, {.x = v, .axes = List{-1}});
  const ValueId all = count == 1 ? volumes[0] : ops::concat(graph, {.inputs = volumes, .axis = -1});
  return ops::reshape(graph, {.x = all, .shape = Shape{shape[0] * shape[1], shape[2], shape[3], shape[4] * count}});
}

ValueId to_last(Graph& graph, ValueId volumes) {
  return ops::transpose(graph, {.x = volumes, .perm = List{0, 2, 3, 4, 1}});
}
ValueId images_to_first(Graph& graph, ValueId images) {
  return ops::transpose(graph, {.x = images, .perm = List{0, 3, 1, 2}});
}

ValueId with_planes_around(Graph& graph, ValueId volumes, int64_t before, int64_t after) {
  if (before + after == 0) return volumes;
  return ops::pad(graph, {.x = volumes, .pads = Shape{before, after}, .axes = List{1}});
}

// Of volumes so many planes, from one on.
ValueId planes(Graph& graph, ValueId volumes, int64_t first, const Dim& count, int64_t stride) {
  return ops::slice(graph, {.x = volumes,
                            .starts = Shape{first},
                            .ends = Shape{(count - 1) * stride + (first + 1)},
                            .axes = List{1},
                            .steps = List{stride}});
}

// x [N,C,D,H,W] as what each place along D sees, [N·D',C',H,W].
ValueId seen_planes(Graph& graph, ValueId x, const SlidingWindow& window, const Dim& places, bool grouped) {
  x = with_planes_around(graph, to_last(graph, x), window.pads[0], window.pads[3]);
  std::vector<ValueId> taps;
  for (int64_t tap = 0; tap < window.kernel[0].constant(); ++tap)
    taps.push_back(planes(graph, x, tap * window.dilations[0], places, window.strides[0]));
  return images_to_first(graph, as_images(graph, taps, grouped));
}

// Of a window over volumes, what a window over planes is told.
Attributes plane_attributes(const Attributes& attributes, const SlidingWindow& window) {
  Attributes two = attributes;
  two.set("strides", part(window.strides, 1, 2));
  two.set("dilations", part(window.dilations, 1, 2));
  two.set("pads", pads_of(window, 1, 2));
  return two;
}

bool is_grouped(const Node& node) { return node.attributes.get_or<int64_t>("groups", 1) > 1; }

void expand_conv(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const ValueId w = node.operands[1];
  const Shape y = graph.type(node.results[0]).shape, kernel = graph.type(w).shape;
  const bool grouped = is_grouped(node);
  const SlidingWindow window = read_sliding_window(node.attributes, spatial(kernel));
  graph.set_insertion_point(id);
  const ValueId x = seen_planes(graph, node.operands[0], window, y[2], grouped);
  // The planes of a channel lie together. Of weights over several pixels they are put apart when these are laid out, so
  // that no copy of them exists.
  const bool apart = !grouped && !(kernel[2] == Dim(1)), when_laid_out = apart && !(kernel[3] * kernel[4] == Dim(1));
  const ValueId ordered = apart && !when_laid_out ? ops::transpose(graph, {.x = w, .perm = List{0, 2, 1, 3, 4}}) : w;
  const Shape flat{kernel[0], kernel[1] * kernel[2], kernel[3], kernel[4]};
  std::vector<ValueId> operands = node.operands;
  operands[0] = x;
  operands[1] = ops::reshape(graph, {.x = ordered, .shape = flat});
  Attributes attributes = plane_attributes(node.attributes, window);
  if (when_laid_out) attributes.set("planes", kernel[2].constant());
  const ValueId two = graph.emit(conv_def, operands, attributes);
  const ValueId last = ops::transpose(graph, {.x = two, .perm = List{0, 2, 3, 1}});
  const ValueId volumes = ops::reshape(graph, {.x = last, .shape = Shape{y[0], y[2], y[3], y[4], y[1]}});
  const ValueId result = ops::transpose(graph, {.x = volumes, .perm = List{0, 4, 1, 2, 3}});
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, result);
}

// conv_weight_gradient: d over planes is that of the products over what each place sees.
void expand_weight_gradient(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const Shape d = graph.type(node.operands[0]).shape, w = graph.type(node.results[0]).shape;
  const List kernel = node.attributes.get<List>("kernel_shape");
  const bool grouped = is_grouped(node);
  const SlidingWindow window = read_sliding_window(node.attributes, to_shape(kernel));
  graph.set_insertion_point(id);
  const ValueId x = seen_planes(graph, node.operands[1], window, d[2], grouped);
  const ValueId images = images_to_first(graph, as_images(graph, {to_last(graph, node.operands[0])}, false));
  Attributes attributes = plane_attributes(node.attributes, window);
  attributes.set("kernel_shape", part(kernel, 1, 2));
  ValueId v = graph.emit(conv_weight_gradient_def, {images, x}, attributes);
  if (grouped) {
    v = ops::reshape(graph, {.x = v, .shape = w});
  } else {
    v = ops::reshape(graph, {.x = v, .shape = Shape{w[0], w[2], w[1], w[3], w[4]}});
    v = ops::transpose(graph, {.x = v, .perm = List{0, 2, 1, 3, 4}});
  }
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, v);
}

// conv_input_gradient, of x [N,C,D,H,W]. Planes of one phase lie at positions q * stride + phase, and have to do with
// every s-th tap along the depth at most: d's planes that these give from are seen as further channels.
struct InputGradient {
  Node node;
  SlidingWindow window;
  Shape w, x;
  Dim places;          // of a phase: enough for x, wherever its last window ends
  int64_t growth = 0;  // places, less those of d

  InputGradient(const Graph& graph, const Node& n)
      : node(n),
        window(read_sliding_window(n.attributes, spatial(graph.type(n.operands[1]).shape))),
        w(graph.type(n.operands[1]).shape),
        x(graph.type(n.results[0]).shape) {
    const int64_t stride = window.strides[0],
                  behind = (w[2].constant() - 1) * window.dilations[0] - window.pads[0] - window.pads[3];
    growth = floordiv(Dim(behind + stride - 1), stride).constant();
    places = graph.type(n.operands[0]).shape[2] + growth;
  }

  // [N,P,H,W,C], of d [N,D',H',W',O].
  ValueId phase_at(Graph& graph, ValueId d, int64_t phase) const {
    List taps, firsts;  // of the window, and the plane of d that it gives to the first place through each
    for (int64_t tap = 0; tap < w[2].constant(); ++tap)
      if (const int64_t at = phase + window.pads[0] - tap * window.dilations[0]; at % window.strides[0] == 0)
        taps.push_back(tap), firsts.push_back(at / window.strides[0]);
    const Shape shape{x[0], places, x[3], x[4], x[1]};
    if (taps.empty()) return ops::full(graph, {.shape = shape, .value = 0});
    const int64_t before = std::max<int64_t>(-firsts.back(), 0), after = std::max<int64_t>(firsts[0] + growth, 0);
    d = with_planes_around(graph, d, before, after);
    std::vector<ValueId> seen;
    for (int64_t first : firsts) seen.push_back(planes(graph, d, first + before, places, 1));
    const bool grouped = is_grouped(node);
    const ValueId images = images_to_first(graph, as_images(graph, seen, grouped));
    Attributes attributes = plane_attributes(node.attributes, window);
    attributes.set("sizes", Shape{x[3], x[4]});
    const ValueId v = graph.emit(conv_input_gradient_def, {images, weights_of(graph, taps, grouped)}, attributes);
    return ops::reshape(graph, {.x = ops::transpose(graph, {.x = v, .perm = List{0, 2, 3, 1}}), .shape = shape});
  }

  // Of these taps, as of a window over planes: the taps of a plane together, or, in groups, of a channel.
  ValueId weights_of(Graph& graph, const List& taps, bool grouped) const {
    ValueId v = node.operands[1];
    const int64_t step = taps.size() > 1 ? taps[1] - taps[0] : 1;
    if (std::ssize(taps) < w[2].constant())
      v = ops::slice(
          graph,
          {.x = v, .starts = Shape{taps[0]}, .ends = Shape{taps.back() + 1}, .axes = List{2}, .steps = List{step}});
    v = ops::transpose(graph, {.x = v, .perm = grouped ? List{0, 2, 1, 3, 4} : List{2, 0, 1, 3, 4}});
    return ops::reshape(graph, {.x = v, .shape = Shape{w[0] * std::ssize(taps), w[1], w[3], w[4]}});
  }
};

void expand_input_gradient(Graph& graph, NodeId id) {
  const InputGradient gradient(graph, graph.node(id));
  const Shape& x = gradient.x;
  const int64_t stride = gradient.window.strides[0];
  graph.set_insertion_point(id);
  const ValueId d = to_last(graph, gradient.node.operands[0]);
  std::vector<ValueId> phases;
  for (int64_t phase = 0; phase < stride; ++phase) {
    phases.push_back(gradient.phase_at(graph, d, phase));
    if (stride > 1) phases.back() = ops::unsqueeze(graph, {.x = phases.back(), .axes = List{2}});
  }
  ValueId v = phases[0];
  if (stride > 1)
    v = ops::reshape(graph, {.x = ops::concat(graph, {.inputs = phases, .axis = 2}),
                             .shape = Shape{x[0], gradient.places * stride, x[3], x[4], x[1]}});
  if (!(gradient.places * stride == x[2])) v = planes(graph, v, 0, x[2], 1);
  v = ops::transpose(graph, {.x = v, .perm = List{0, 4, 1, 2, 3}});
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, v);
}

bool is_volume(const Graph& graph, const Node& node) {
  const TensorType& x = graph.type(node.operands[0]);
  if (channels_last(node.attributes) || x.is_packed() || !x.ranked || x.rank() != 5) return false;
  if (!graph.type(node.results[0]).ranked) return false;  // a bias may be open
  return std::ranges::find(x.shape, Dim(0)) == x.shape.end();
}

// With pads that are numbers and plain weights of a constant window.
bool has_plain_weight(const Graph& graph, const Node& node, ValueId weights) {
  const TensorType& w = graph.type(weights);
  const auto is_f32 = [&](ValueId v) {
    return v == kNone || (graph.type(v).dtype == DType::f32 && !graph.type(v).is_packed());
  };
  return w.ranked && w.rank() == 5 && !w.is_packed() && is_constant(w.shape) &&
         std::ranges::find(w.shape, Dim(0)) == w.shape.end() && std::ranges::all_of(node.operands, is_f32) &&
         read_sliding_window(node.attributes, spatial(w.shape)).same == SlidingWindow::Same::no;
}

Graph expand_volumes(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(max_pool_def))
    if (is_volume(graph, graph.node(id))) expand_pool(graph, id);
  for (NodeId id : graph.nodes(avg_pool_def))  // a mean of means is rounded twice
    if (is_volume(graph, graph.node(id)) && graph.type(graph.operand(id, 0)).dtype == DType::f32)
      expand_pool(graph, id);
  for (NodeId id : graph.nodes(conv_def))
    if (const Node& node = graph.node(id); is_volume(graph, node) && has_plain_weight(graph, node, node.operands[1]))
      expand_conv(graph, id);
  for (NodeId id : graph.nodes(conv_weight_gradient_def))
    if (const Node& node = graph.node(id); is_volume(graph, node) && has_plain_weight(graph, node, node.results[0]))
      expand_weight_gradient(graph, id);
  for (NodeId id : graph.nodes(conv_input_gradient_def))
    if (const Node& node = graph.node(id); is_volume(graph, node) && has_plain_weight(graph, node, node.operands[1]))
      expand_input_gradient(graph, id);
  return graph;
}

}  // namespace

extern constinit const PassDef expand_volumes_def{.name = "expand_volumes",
                                                  .doc =
                                                      "conv, its gradients, max_pool and avg_pool over three spatial "
                                                      "dimensions → over two, with the planes under the "
                                                      "window as further channels, or one after the other.",
                                                  .run = expand_volumes};

}  // namespace hone
