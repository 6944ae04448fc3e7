// max_pool over a large plane of elements as one along each of its dimensions: the largest of each row's window, then
// of those below each other. A window of h x w then looks at h + w elements, for one that is written and read in
// between. The largest of the largest has the same bits: NaN and the sign of a zero decide alike in any order.
#include <algorithm>
#include <array>

#include "ops/calls/pool.h"
#include "ops/sliding_window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

// The attributes of a pool along one of two dimensions.
Attributes along(const Attributes& attributes, const SlidingWindow& window, size_t axis) {
  Attributes one = attributes;
  const auto keep = [&](const char* name, const List& all) {
    List list{1, 1};
    list[axis] = all[axis];
    one.set(name, list);
  };
  keep("kernel_shape", constant_shape(window.kernel));
  keep("strides", window.strides);
  keep("dilations", window.dilations);
  if (window.same != SlidingWindow::Same::no) return one;  // pads follow from the sizes
  List pads{0, 0, 0, 0};
  pads[axis] = window.pads[axis], pads[axis + 2] = window.pads[axis + 2];
  one.set("pads", pads);
  return one;
}

// Elements looked at for each of the result when `first` is done first, which leaves the other dimension as it is. What
// is written and read in between costs about as much as four more.
double elements_seen(const SlidingWindow& window, size_t first) {
  constexpr double kBetween = 4;
  const auto extent = [&](size_t axis) { return static_cast<double>(window.kernel[axis].constant()); };
  return static_cast<double>(window.strides[1 - first]) * (extent(first) + kBetween) + extent(1 - first);
}

Graph separate_max_pool(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(max_pool_def)) {
    const Node node = graph.node(id);
    const TensorType type = graph.type(node.results[0]);
    if (!type.ranked || !graph.type(node.operands[0]).ranked || type.rank() != 4) continue;
    const SlidingWindow window =
        read_sliding_window(node.attributes, to_shape(node.attributes.get<List>("kernel_shape")));
    const size_t first = elements_seen(window, 1) <= elements_seen(window, 0) ? 1 : 0;
    if (!(elements_seen(window, first) < static_cast<double>(element_count(window.kernel).constant()))) continue;
    graph.set_insertion_point(id);
    ValueId v = node.operands[0];
    for (size_t axis : {first, 1 - first}) v = graph.emit(max_pool_def, {v}, along(node.attributes, window, axis));
    graph.refine_type(v, type);
    graph.set_insertion_point(kNone);
    replace_by_value(graph, id, v);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef separate_max_pool_def{
    .name = "separate_max_pool",
    .doc = "max_pool over large windows in two dimensions → one along each of them.",
    .run = separate_max_pool};

}  // namespace hone
