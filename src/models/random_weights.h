// Seeded weights for a model that has none: what a network looks like before training, fit for measuring speed and for
// comparing numbers.
#pragma once

#include "models/registry.h"

namespace hone {

// He initialisation (He et al., "Delving deep into rectifiers", 2015, uniform): a matrix or window has variance
// 2 / fan_in; scales of normalisations lie in [0.5, 1.5), biases in [-0.1, 0.1), running means are 0 and variances 1.
// A tensor depends only on the seed, its name and its shape.
WeightSource random_weights(uint64_t seed);

// Gives every batch_norm the statistics of what it sees, first to last, when the graph runs on seeded inputs of these
// sizes. So values neither vanish nor explode however deep the network is, as long as it runs on inputs of such sizes:
// zeros around a small feature map lower what the layers after it see.
void settle_batch_norms(Graph& graph, const Bindings& sizes, uint64_t seed);

}  // namespace hone
