#include "base/philox.h"
#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> random_score(const ScoreInput& input) {
  Philox random(input.seed);
  std::vector<float> scores(static_cast<size_t>(input.weight.elements()));
  for (float& score : scores) score = random.uniform(0, 1);
  return scores;
}

}  // namespace

extern constinit const ScoreDef random_score_def{
    .name = "random", .doc = "chance: what every other score has to beat", .score = random_score};

}  // namespace hone
