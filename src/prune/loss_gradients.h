// What a loss on labelled data says of weights: the first-order scores.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/session.h"

namespace hone {

struct LossData {
  std::vector<NamedTensors> batches;  // the graph's inputs, and "labels" as add_loss() takes them (train/losses/loss.h)
  std::string loss = "cross-entropy";
};

// dL/dw of the constants with those labels, the mean over the batches.
std::map<std::string, Tensor> loss_gradients(const Graph& graph, const std::vector<std::string>& labels,
                                             const LossData& data, const SessionOptions& session);

// The sum of -rate w dL/dw over one pass of plain descent through the batches; the graph's own weights stay.
std::map<std::string, Tensor> weight_movements(const Graph& graph, const std::vector<std::string>& labels,
                                               const LossData& data, double rate, const SessionOptions& session);

}  // namespace hone
