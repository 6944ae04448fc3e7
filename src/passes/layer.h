// Layers of a graph as people speak of them: a product with the constants it owns. Rules address them, calibration is
// about their inputs, and rewriting passes change them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace hone {

// A linear, conv, matmul or attention. Products with a constant that has no label are no layers: such a constant is
// part of a formula (a fixed rotation, say), not a weight.
struct Layer {
  NodeId node = kNone;
  std::string name;         // the weight's label without ".weight"; without a weight, the name of the result
  ValueId weight = kNone;   // a constant
  ValueId bias = kNone;     // a constant of rank 1
  std::vector<int> inputs;  // operands that are activations
};

std::vector<Layer> layers_of(const Graph& graph);  // in the order of the nodes

std::string layer_name(std::string_view weight_label);

}  // namespace hone
