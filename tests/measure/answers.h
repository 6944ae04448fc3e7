// Answers written down for a test, and what a metric makes of them.
#pragma once

#include "measure/estimate.h"
#include "measure/metric.h"

namespace hone::test {

struct GivenAnswers {
  TargetKind kind = TargetKind::classes;
  int64_t samples = 0, width = 0;
  std::vector<float> scores;
  std::vector<int64_t> classes = {};
  std::vector<float> values = {};
  operator Answers() const { return {kind, samples, width, scores, classes, values}; }
};

// Scores whose largest is that of the given class.
inline GivenAnswers classified(int64_t width, const std::vector<int64_t>& predicted, const std::vector<int64_t>& right,
                               int64_t rows_of_sample = 1) {
  GivenAnswers a{.samples = static_cast<int64_t>(right.size()) / rows_of_sample, .width = width, .classes = right};
  for (int64_t p : predicted)
    for (int64_t c = 0; c < width; ++c) a.scores.push_back(c == p ? 1.0f : 0.0f);
  return a;
}

inline GivenAnswers numbers(const std::vector<float>& given, const std::vector<float>& right, int64_t width = 1) {
  return {.kind = TargetKind::numbers,
          .samples = static_cast<int64_t>(right.size()) / width,
          .width = width,
          .scores = given,
          .values = right};
}

inline Evidence evidence_of(const std::string& metric, const Answers& answers) {
  MetricSamples samples(parse_metric(metric));
  samples.add(answers);
  return samples.finish();
}

inline double value_of(const std::string& metric, const Answers& answers) {
  return estimate(parse_metric(metric), evidence_of(metric, answers)).value;
}

}  // namespace hone::test
