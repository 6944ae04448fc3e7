// avg_pool_gradient as what conv_input_gradient does with weights of 1: each element of d, divided by the number of
// elements that its mean is of, goes to all that lie under its window.
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/pool.h"
#include "ops/sliding_window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

// One over the number of elements at each place, [places...]; a scalar where it is the same at all.
Tensor shares(const SlidingWindowOnPlane& window, const List& places, bool with_padding) {
  std::vector<float> shares;
  for (int64_t place = 0; place < window.places(); ++place) {
    const int64_t inside = with_padding ? window.padded_taps(place) : std::ssize(window.taps(place));
    shares.push_back(1 / static_cast<float>(inside));
  }
  const bool same = std::ranges::all_of(shares, [&](float share) { return share == shares[0]; });
  return same ? Tensor::scalar<float>(shares[0]) : Tensor::of<float>(places, shares);
}

void expand(Graph& graph, NodeId id, const Shape& d, int64_t channels) {
  const Node node = graph.node(id);
  const List sizes = constant_shape(node.attributes.get<Shape>("sizes")), places = constant_shape(spatial(d)),
             kernel = node.attributes.get<List>("kernel_shape");
  const SlidingWindow window = read_sliding_window(node.attributes, to_shape(kernel));
  const SlidingWindowOnPlane on_plane(window, sizes, places);
  const std::array<int64_t, 3> start = on_plane.start(0);
  const size_t dims = sizes.size();
  List pads(2 * dims);
  for (size_t i = 0; i < dims; ++i) {  // a window may end before x does
    pads[i] = -start[3 - dims + i];
    const int64_t reached = (places[i] - 1) * window.strides[i] + window.reach(i).constant() - pads[i];
    pads[dims + i] = std::max<int64_t>(reached - sizes[i], 0);
  }
  List shape{channels, 1};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const std::vector<float> ones(static_cast<size_t>(element_count(shape)), 1.0f);
  const bool with_padding = node.attributes.get_or<int64_t>("count_include_pad", 0) != 0;
  graph.set_insertion_point(id);
  const ValueId share = graph.add_constant("", shares(on_plane, places, with_padding));
  const ValueId x = ops::conv_input_gradient(graph, {.d = ops::mul(graph, {node.operands[0], share}),
                                                     .w = graph.add_constant("", Tensor::of<float>(shape, ones)),
                                                     .strides = window.strides,
                                                     .pads = pads,
                                                     .dilations = window.dilations,
                                                     .groups = channels,
                                                     .sizes = to_shape(sizes)});
  graph.set_insertion_point(kNone);
  replace_by_value(graph, id, x);
}

Graph expand_avg_pool_gradient(Graph graph, const PassContext&) {
  constexpr int64_t kMost = 1 << 20;  // elements of the tables that are made
  for (NodeId id : graph.nodes(avg_pool_gradient_def)) {
    const Node& node = graph.node(id);
    const TensorType& d = graph.type(node.operands[0]);
    const Shape& sizes = node.attributes.get<Shape>("sizes");
    if (channels_last(node.attributes) || d.dtype != DType::f32 || d.rank() < 3 || d.rank() > 4) continue;
    if (!is_constant(sizes) || !is_constant(Shape(d.shape.begin() + 1, d.shape.end()))) continue;
    const int64_t channels = d.shape[1].constant(), places = element_count(spatial(d.shape)).constant();
    int64_t taps = 1;
    for (int64_t extent : node.attributes.get<List>("kernel_shape"))
      taps = extent > kMost / taps ? kMost + 1 : taps * extent;
    if (channels < 2 || places < 1 || places > kMost || taps > kMost / channels) continue;
    expand(graph, id, d.shape, channels);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_avg_pool_gradient_def{
    .name = "expand_avg_pool_gradient",
    .doc = "avg_pool_gradient of f32 → d divided by the sizes of its windows, and a depthwise conv_input_gradient.",
    .run = expand_avg_pool_gradient};

}  // namespace hone
