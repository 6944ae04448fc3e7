// Sun et al., "A Simple and Effective Pruning Approach for Large Language Models" (2024).
#include <cmath>

#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> wanda_score(const ScoreInput& input) {
  std::vector<float> scores = input.weight.to_floats();
  const LayerStatistics& s = *input.statistics;
  const auto width = static_cast<size_t>(s.width), rows = static_cast<size_t>(input.rows());
  for (size_t row = 0; row < rows; ++row) {
    const size_t group = row / (rows / static_cast<size_t>(s.groups));
    for (size_t k = 0; k < width; ++k) {
      const float mean_square = s.moment[(group * width + k) * width + k];
      scores[row * width + k] = std::abs(scores[row * width + k]) * std::sqrt(mean_square);
    }
  }
  return scores;
}

}  // namespace

extern constinit const ScoreDef wanda_score_def{
    .name = "wanda",
    .doc = "|w| times the root mean square of what it is multiplied with, compared within its row",
    .needs = ScoreDef::Needs::inputs,
    .by_row = true,
    .score = wanda_score};

}  // namespace hone
