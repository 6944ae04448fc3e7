// conv, max_pool and avg_pool over three spatial dimensions as the same over two. A pool goes over the planes first and
// then from plane to plane. A convolution sees the planes under its window as further channels: its K holds all of a
// window in one product, at the price of as many copies of x as the window is deep.
#include <algorithm>

#include "ops/calls.h"
#include "ops/sliding_window.h"
#include "passes/channels_last.h"
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

// x [N,D,H,W,C] as what each place along D sees, [N·D',H,W,C'], where the C' channels are those of a tap together, or,
// in groups, the taps of a channel.
ValueId seen_planes(Graph& graph, ValueId x, const SlidingWindow& window, const Dim& places, bool grouped) {
  const List before{0, window.pads[0], 0, 0, 0}, after{0, window.pads[3], 0, 0, 0};
  List pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  if (window.pads[0] + window.pads[3] > 0) x = ops::pad(graph, {.x = x, .pads = to_shape(pads)});
  std::vector<ValueId> taps;
  for (int64_t tap = 0; tap < window.kernel[0].constant(); ++tap) {
    const int64_t first = tap * window.dilations[0];
    const ValueId planes = ops::slice(graph, {.x = x,
                                              .starts = Shape{first},
                                              .ends = Shape{(places - 1) * window.strides[0] + (first + 1)},
                                              .axes = List{1},
                                              .steps = List{window.strides[0]}});
    taps.push_back(grouped ? ops::unsqueeze(graph, {.x = planes, .axes = List{-1}}) : planes);
  }
  const Shape shape = graph.type(x).shape;
  const ValueId all = taps.size() == 1 ? taps[0] : ops::concat(graph, {.inputs = taps, .axis = -1});
  return ops::reshape(
      graph,
      {.x = all, .shape = Shape{shape[0] * places, shape[2], shape[3], shape[4] * static_cast<int64_t>(taps.size())}});
}

void expand_conv(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const ValueId w = node.operands[1];
  const Shape y = graph.type(node.results[0]).shape, kernel = graph.type(w).shape;
  const bool grouped = node.attributes.get_or<int64_t>("groups", 1) > 1;
  const SlidingWindow window = read_sliding_window(node.attributes, spatial(kernel));
  graph.set_insertion_point(id);
  const ValueId x = ops::transpose(graph, {.x = node.operands[0], .perm = List{0, 2, 3, 4, 1}});
  const ValueId planes = seen_planes(graph, x, window, y[2], grouped);
  // The planes of a channel lie together. Of weights over several pixels they are put apart when these are laid out, so
  // that no copy of them exists.
  const bool apart = !grouped && !(kernel[2] == Dim(1)), when_laid_out = apart && !(kernel[3] * kernel[4] == Dim(1));
  const ValueId ordered = apart && !when_laid_out ? ops::transpose(graph, {.x = w, .perm = List{0, 2, 1, 3, 4}}) : w;
  const Shape flat{kernel[0], kernel[1] * kernel[2], kernel[3], kernel[4]};
  std::vector<ValueId> operands = node.operands;
  operands[0] = ops::transpose(graph, {.x = planes, .perm = List{0, 3, 1, 2}});
  operands[1] = ops::reshape(graph, {.x = ordered, .shape = flat});
  Attributes attributes = node.attributes;
  attributes.set("strides", part(window.strides, 1, 2));
  attributes.set("dilations", part(window.dilations, 1, 2));
  attributes.set("pads", pads_of(window, 1, 2));
  if (when_laid_out) attributes.set("planes", kernel[2].constant());
  const ValueId two = graph.emit(conv_def, operands, attributes);
  const ValueId last = ops::transpose(graph, {.x = two, .perm = List{0, 2, 3, 1}});
  const ValueId volumes = ops::reshape(graph, {.x = last, .shape = Shape{y[0], y[2], y[3], y[4], y[1]}});
  const ValueId result = ops::transpose(graph, {.x = volumes, .perm = List{0, 4, 1, 2, 3}});
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, result);
}

bool is_volume(const Graph& graph, const Node& node) {
  const TensorType& x = graph.type(node.operands[0]);
  if (channels_last(node.attributes) || x.is_packed() || !x.ranked || x.rank() != 5) return false;
  if (!graph.type(node.results[0]).ranked) return false;  // a bias may be open
  return std::ranges::find(x.shape, Dim(0)) == x.shape.end();
}

// With pads that are numbers and a plain weight of a constant window.
bool has_plain_weight(const Graph& graph, const Node& node) {
  const TensorType& w = graph.type(node.operands[1]);
  const auto is_f32 = [&](ValueId v) { return v == kNone || graph.type(v).dtype == DType::f32; };
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
    if (is_volume(graph, graph.node(id)) && has_plain_weight(graph, graph.node(id))) expand_conv(graph, id);
  return graph;
}

}  // namespace

extern constinit const PassDef expand_volumes_def{
    .name = "expand_volumes",
    .doc =
        "conv, max_pool and avg_pool over three spatial dimensions → over two, with the planes under the window as "
        "further channels, or one after the other.",
    .run = expand_volumes};

}  // namespace hone
