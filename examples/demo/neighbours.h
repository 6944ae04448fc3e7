// Nearest-neighbour classification with embeddings: the task by which sentence encoders are compared.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace hone {

struct NeighbourResult {
  std::vector<int> nearest;    // per query: the index text with the largest cosine (the first of equals)
  std::vector<int> predicted;  // per query: the class that the `votes` nearest ones choose, weighted by cosine
  double accuracy = 0;         // share of queries whose class is right
};

// index f32[n, C], queries f32[m, C].
NeighbourResult classify_by_neighbours(const Tensor& index, const std::vector<int>& index_labels, const Tensor& queries,
                                       const std::vector<int>& query_labels, int votes = 5);

}  // namespace hone
