// Lee et al., "SNIP: Single-shot Network Pruning based on Connection Sensitivity" (2019): what the loss would change by
// if the weight's mask went from 1, |dL/dmask| = |w dL/dw|.
#include <cmath>

#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> snip_score(const ScoreInput& input) {
  std::vector<float> scores = input.weight.to_floats();
  const std::vector<float> gradient = input.gradient->to_floats();
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = std::abs(scores[i] * gradient[i]);
  return scores;
}

}  // namespace

extern constinit const ScoreDef snip_score_def{.name = "snip",
                                               .doc = "|w dL/dw|, of the loss on the data",
                                               .needs = ScoreDef::Needs::gradient,
                                               .score = snip_score};

}  // namespace hone
