// What the floating constants of a model hold, without holding packed ones decoded as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct WeightFacts {
  const Tensor* tensor = nullptr;
  bool learned = false;  // a weight or bias, as training makes them; others are parts of formulas, such as masks
  std::string name;
  int64_t elements = 0, nan = 0, inf = 0;
  double largest = 0;  // of the finite magnitudes
};

// Of the graph and the bodies in it.
std::vector<WeightFacts> scan_weights(const Graph& graph);

}  // namespace hone
