// The Brier score: evidence, a sum of squared errors of probabilities over b rows.
#include <algorithm>
#include <cmath>

#include "measure/metric.h"

namespace hone {
namespace {

double squared_error(std::span<const float> scores, int64_t right) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double all = 0, error = 0;
  for (float s : scores) all += std::exp(s - most);
  for (int64_t c = 0; c < std::ssize(scores); ++c) {
    const double p = std::exp(scores[static_cast<size_t>(c)] - most) / all;
    error += (p - (c == right)) * (p - (c == right));
  }
  return error;
}

void observe(const Answers& answers, int64_t, Evidence& evidence) {
  for (int64_t r = 0; r < answers.rows(); ++r)
    if (const int64_t right = answers.classes[static_cast<size_t>(r)]; right != kIgnored) {
      evidence.rows.push_back({r * answers.samples / answers.rows(), squared_error(answers.row(r), right), 1});
      ++evidence.counted;
    }
}

}  // namespace

extern constinit const MetricDef brier_metric_def{.name = "brier",
                                                  .title = "Brier score",
                                                  .doc = "mean squared error of the probabilities that softmax gives",
                                                  .targets = kinds(TargetKind::classes),
                                                  .larger_is_better = false,
                                                  .observe = observe,
                                                  .value = mean_of};

}  // namespace hone
