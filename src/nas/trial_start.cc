#include "nas/trial_start.h"

#include <algorithm>

#include "base/error.h"
#include "ops/calls/linear.h"
#include "passes/layer.h"

namespace hone {

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

}  // namespace hone
