// Which parameters of a study decide its values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "study/trial_record.h"

namespace hone {

struct Importance {
  std::string parameter;
  double share = 0;  // of all; 0 for all where the forest predicts nothing
};

// By permutation on a random forest: how much worse it predicts the objective of trials that a tree was not grown from
// when that parameter is shuffled among them (Breiman, "Random forests", 2001). Of complete trials; those that lack a
// parameter have a value of its own. The largest first. Fewer than 8 trials say nothing: empty.
std::vector<Importance> importances(std::span<const TrialPtr> trials, size_t objective, uint64_t seed);

}  // namespace hone
