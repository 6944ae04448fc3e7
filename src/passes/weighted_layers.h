// The nodes of a graph that multiply an activation by a weight: what calibration watches and better rounding improves.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace hone {

// A linear or conv, or a matmul with a matrix, whose weight is a floating or packed constant with a label, maybe under
// fake_quant.
struct WeightedLayer {
  NodeId node = kNone;
  int input_operand = 0, weight_operand = 1;
  ValueId input = kNone, weight = kNone;  // the activation as it is multiplied; the constant
};
std::vector<WeightedLayer> weighted_layers(const Graph& graph);  // in the order of the graph

}  // namespace hone
