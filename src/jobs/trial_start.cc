#include "jobs/trial_start.h"

#include <algorithm>

#include "base/error.h"
#include "ops/calls.h"
#include "passes/layer.h"

namespace hone {
namespace {

// The block at the origin of `source` that has this shape.
std::vector<float> leading_part(const std::vector<float>& source, const std::vector<int64_t>& from,
                                const std::vector<int64_t>& to) {
  std::vector<float> part;
  part.reserve(static_cast<size_t>(element_count(to)));
  std::vector<int64_t> at(to.size(), 0);
  for (int64_t i = 0; i < element_count(to); ++i) {
    int64_t place = 0;
    for (size_t axis = 0; axis < to.size(); ++axis) place = place * from[axis] + at[axis];
    part.push_back(source[static_cast<size_t>(place)]);
    for (size_t axis = to.size(); axis-- > 0 && ++at[axis] == to[axis];) at[axis] = 0;
  }
  return part;
}

bool holds(const Tensor& parent, const Tensor& own) {
  if (parent.shape().size() != own.shape().size() || !is_float(own.dtype()) ||
      (!parent.is_packed() && !is_float(parent.dtype())))
    return false;
  return std::ranges::equal(own.shape(), parent.shape(), [](int64_t a, int64_t b) { return a <= b; });
}

}  // namespace

bool has_address(const Graph& graph, const std::string& address) {
  if (graph.find_constant(address) != kNone) return true;
  for (const Layer& layer : layers_of(graph))
    for (const char* part : {"", ".in", ".bias", ".weight"})
      if (address == layer.name + part) return true;
  return false;
}

Graph without_layers(Graph graph, std::span<const std::string> names) {
  for (const Layer& layer : layers_of(graph)) {
    if (std::ranges::find(names, layer.name) == names.end()) continue;
    const Node node = graph.node(layer.node);
    const std::vector<int64_t> shape =
        layer.weight == kNone ? std::vector<int64_t>() : graph.constant(layer.weight)->shape();
    if (node.op != &linear_def || shape.at(0) != shape.at(1))
      fail("layer {} is no square linear layer; only such a layer can be left out", layer.name);
    graph.replace_all_uses(node.results[0], node.operands[0]);
    graph.erase(layer.node);
  }
  graph.erase_unused_constants();
  graph.compact();
  return graph;
}

int64_t inherit_weights(Graph& graph, const Graph& parent) {
  int64_t taken = 0;
  for (ValueId id : graph.constants()) {
    const std::string& label = graph.value(id).label;
    const ValueId theirs = label.empty() ? kNone : parent.find_constant(label);
    if (theirs == kNone) continue;
    const Tensor own = *graph.constant(id), source = *parent.constant(theirs);
    if (!holds(source, own)) continue;
    graph.set_constant(id, Tensor::from_floats(own.dtype(), own.shape(),
                                               leading_part(source.to_floats(), source.shape(), own.shape())));
    ++taken;
  }
  if (taken == 0) fail("the parent has no weight of a name and shape that the model could begin with");
  return taken;
}

}  // namespace hone
