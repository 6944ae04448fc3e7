// Whole layers of a network, by the numbers in the names of their weights.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// A part of the network between two values of the same type, behind weights with a common name ("encoder.layer.3"):
// what follows can read what comes before instead.
struct NetworkLayer {
  std::string name;
  ValueId before = kNone, after = kNone;  // kNone: it can't go, and
  std::string kept_because;               // why
  std::vector<ValueId> weights;
};
std::vector<NetworkLayer> network_layers(const Graph& graph);
Graph remove_layer(Graph graph, const NetworkLayer& layer);

}  // namespace hone
