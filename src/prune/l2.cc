#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> l2_score(const ScoreInput& input) {
  std::vector<float> scores = input.weight.to_floats();
  for (float& w : scores) w *= w;
  return scores;
}

}  // namespace

// Of single weights the order is that of l1.
extern constinit const ScoreDef l2_score_def{
    .name = "l2", .doc = "w²; of a channel or head the sum", .score = l2_score};

}  // namespace hone
