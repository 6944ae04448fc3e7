// Which repeated layer of a network each node belongs to, and which layers look alike.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct GraphLayers {
  std::vector<std::string> names;  // "encoder.layer.0", in order of appearance
  std::vector<int> same_as;        // per layer: the first layer in an unbroken run of equals, or itself
  std::vector<int> of_node;        // by NodeId: index into names, -1 outside of layers
};

// A node belongs to the layer that its constants are named after; a node without constants to the layer that it both
// depends on and is needed by, or, at the end, to none.
GraphLayers find_layers(const Graph& graph);

// "encoder.layer.0" of "encoder.layer.0.output.dense.weight": up to the last part that is a number; "" when none is.
std::string layer_of_label(const std::string& label);

}  // namespace hone
