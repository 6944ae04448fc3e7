#include "measure/prediction.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {
bool has_nan(std::span<const float> scores) {
  return std::any_of(scores.begin(), scores.end(), [](float x) { return std::isnan(x); });
}
}  // namespace

int64_t predicted_class(std::span<const float> scores) {
  return has_nan(scores) ? -1 : std::max_element(scores.begin(), scores.end()) - scores.begin();
}

int64_t rank_of_class(std::span<const float> scores, int64_t right) {
  if (has_nan(scores)) return std::ssize(scores);
  const float score = scores[static_cast<size_t>(right)];
  int64_t above = 0;
  for (int64_t c = 0; c < std::ssize(scores); ++c)
    above += scores[static_cast<size_t>(c)] > score || (scores[static_cast<size_t>(c)] == score && c < right);
  return above;
}

}  // namespace hone
