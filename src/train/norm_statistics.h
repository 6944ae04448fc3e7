// What batch norms go by: the running statistics that training moves, or statistics measured anew, since those that a
// network was trained with are not those of its parts.
#pragma once

#include <span>

#include "ir/graph.h"
#include "runtime/session.h"

namespace hone {

// Batch norms that go by whatever batch they are given (ONNX's training mode) go by their running statistics, where
// these are weights: so they can be trained, and the trained model gives a row the same answer in any batch.
Graph with_running_statistics(Graph model);

// The model whose batch norms have the mean and the variance of what each sees while all work as in training, each the
// mean over these batches. `batches`: what it takes, at least one with two values a channel.
Graph with_measured_statistics(Graph model, std::span<const NamedTensors> batches, const SessionOptions& session);

}  // namespace hone
