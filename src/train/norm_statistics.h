// The statistics of batch norms, measured anew: those that a network was trained with are not those of its parts.
#pragma once

#include <span>

#include "ir/graph.h"
#include "runtime/session.h"

namespace hone {

// The model whose batch norms have the mean and the variance of what each sees while all work as in training, each the
// mean over these batches. `batches`: what it takes, at least one with two values a channel.
Graph with_measured_statistics(Graph model, std::span<const NamedTensors> batches, const SessionOptions& session);

}  // namespace hone
