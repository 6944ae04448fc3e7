// Batch norms whose batch is spread over several processes: their statistics are those of all parts together.
#pragma once

#include "ir/graph.h"

namespace hone {

struct SynchronisedNorm {
  ValueId y, running_mean, running_variance;
};

// What batch_norm_train computes of `norm`, a batch_norm, if its x were those of all ranks together. In nodes before
// it: sums that every rank has are its operands' sums over ranks, so that gradients follow by their rules.
SynchronisedNorm synchronised_norm(Graph& graph, const Node& norm);

}  // namespace hone
