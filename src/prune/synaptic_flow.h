// Tanaka et al., "Pruning neural networks without any data by iteratively conserving synaptic flow" (2020).
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/session.h"

namespace hone {

// What flows through the weights with those labels: the sum of |w| dR/d|w|, where R is the sum of the predictions for
// inputs of ones (shapes as `like` has them) with all weights, biases and factors of the model at their magnitudes.
// Throws Error for a model that takes other things than floats, and where the flow is no finite number.
double synaptic_flow(Graph graph, const std::vector<std::string>& labels, NamedTensors like,
                     const SessionOptions& session);

}  // namespace hone
