#include <cmath>

#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> l1_score(const ScoreInput& input) {
  std::vector<float> scores = input.weight.to_floats();
  for (float& w : scores) w = std::abs(w);
  return scores;
}

}  // namespace

extern constinit const ScoreDef l1_score_def{
    .name = "l1", .doc = "|w|; of a channel or head the sum", .score = l1_score};

}  // namespace hone
