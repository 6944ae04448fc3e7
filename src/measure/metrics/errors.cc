// Evidence: a, a sum of errors over b numbers that are known.
#include <cmath>

#include "measure/metric.h"

namespace hone {
namespace {

template <double (*error)(double)>
void observe(const Answers& answers, int64_t, Evidence& evidence) {
  const size_t of_sample = answers.scores.size() / static_cast<size_t>(answers.samples);
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    Evidence::Row found{.sample = sample};
    for (size_t i = static_cast<size_t>(sample) * of_sample, end = i + of_sample; i < end; ++i)
      if (!std::isnan(answers.values[i]))
        found.a += error(static_cast<double>(answers.scores[i]) - static_cast<double>(answers.values[i])), ++found.b;
    evidence.rows.push_back(found);
    evidence.counted += static_cast<int64_t>(found.b);
  }
}

double squared(double difference) { return difference * difference; }
double absolute(double difference) { return std::abs(difference); }

}  // namespace

extern constinit const MetricDef mse_metric_def{.name = "mse",
                                                .title = "mean squared error",
                                                .doc = "mean of squared differences to the right numbers",
                                                .targets = kinds(TargetKind::numbers),
                                                .larger_is_better = false,
                                                .observe = observe<squared>,
                                                .value = mean_of};
extern constinit const MetricDef mae_metric_def{.name = "mae",
                                                .title = "mean absolute error",
                                                .doc = "mean of absolute differences to the right numbers",
                                                .targets = kinds(TargetKind::numbers),
                                                .larger_is_better = false,
                                                .observe = observe<absolute>,
                                                .value = mean_of};

}  // namespace hone
