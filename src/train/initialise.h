// Weights to begin with: what a network is before it has learnt anything.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace hone {

// New values for every parameter: convolutions uniform with variance 2 / inputs (He et al., "Delving deep into
// rectifiers", 2015), tables normal with deviation 0.02, other weights uniform in ±1/sqrt(inputs), as torch.nn.Linear
// has them; biases 0, slopes 1/4, other vectors 1 where they multiply and 0 where they are added; running means 0 and
// variances 1. Each depends on the seed, its name and its shape.
Graph with_new_weights(Graph model, uint64_t seed);

// Of a linear: [rows,columns], uniform in ±1/sqrt(columns).
Tensor random_matrix(uint64_t seed, const std::string& name, int64_t rows, int64_t columns);

}  // namespace hone
