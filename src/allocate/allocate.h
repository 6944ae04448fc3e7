// A format for each tensor: exactly solved on predicted losses, then refined on measured ones.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "study/knapsack.h"

namespace hone {

// A choice for every item that was measured.
struct Trial {
  std::vector<int> chosen;
  double cost = 0, predicted = 0;
  double score = 0;    // measured; smaller is better
  std::string origin;  // "solved", "uniform mxint4", "refined"
};

struct AllocateOptions {
  double budget = 0;  // of the sum of costs
  int trials = 8;     // of the refinement
  uint64_t seed = 1;
  std::function<double(std::span<const int>)> score;  // measures a choice
  std::function<void(const Trial&)> told = {};
};

struct Allocation {
  std::vector<Trial> trials;  // all that was measured, in order
  size_t best = 0;
  bool is_uniform = false;  // no mixture was better than one choice for all
};

// items[t][c] and the names of the choices c, which are the same for all items. Solves, measures that solution and
// every uniform choice within the budget, then refines: each trial multiplies the losses of some items by random
// factors, starting from those of the best so far, and solves again, so that every trial keeps the budget. The best of
// all that was measured is chosen, a uniform choice at a tie. Throws Error when no choice meets the budget, with the
// least cost that there is.
Allocation allocate(std::span<const std::vector<Choice>> items, std::span<const std::string> choices,
                    const AllocateOptions& options);

}  // namespace hone
