// Evidence: a right rows of b that count.
#include "measure/metric.h"
#include "measure/prediction.h"

namespace hone {
namespace {

bool is_right(const Answers& answers, int64_t row, int64_t k) {
  return rank_of_class(answers.row(row), answers.classes[static_cast<size_t>(row)]) < k;
}

void observe(const Answers& answers, int64_t k, Evidence& evidence) {
  const int64_t of_sample = answers.rows() / answers.samples;
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    Evidence::Row found{.sample = sample};
    for (int64_t r = sample * of_sample; r < (sample + 1) * of_sample; ++r)
      if (answers.classes[static_cast<size_t>(r)] != kIgnored) found.a += is_right(answers, r, k), ++found.b;
    evidence.rows.push_back(found);
    evidence.counted += static_cast<int64_t>(found.b);
  }
}

}  // namespace

extern constinit const MetricDef accuracy_metric_def{
    .name = "accuracy",
    .title = "accuracy",
    .doc = "share of rows whose class has the largest score (accuracy@5: one of the five largest)",
    .targets = kinds(TargetKind::classes),
    .is_share = true,
    .default_k = 1,
    .observe = observe,
    .value = mean_of};

}  // namespace hone
