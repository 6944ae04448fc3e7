// Scores beside those of another model for the same rows. Evidence: a row of each row that counts, whose c is its place
// in the sample.
#include "measure/metric.h"
#include "measure/quality.h"

namespace hone {
namespace {

void observe(const Answers& answers, Evidence& evidence, RowValue value) {
  const int64_t of_sample = answers.rows() / answers.samples;
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    double place = 0;
    for (int64_t r = sample * of_sample; r < (sample + 1) * of_sample; ++r)
      if (answers.classes[static_cast<size_t>(r)] != kIgnored) {
        evidence.rows.push_back({sample, value(answers.value_row(r), answers.row(r)), 1, place++});
        ++evidence.counted;
      }
  }
}

constexpr TargetKinds kOf = kinds(TargetKind::answers);

}  // namespace

extern constinit const MetricDef kl_metric_def{
    .name = "kl",
    .title = "KL divergence, nats",
    .doc =
        "mean over tokens of KL(p || q) of what may come next, by softmax: p of the original or first model, q of "
        "this one",
    .targets = kOf,
    .larger_is_better = false,
    .observe = [](const Answers& answers, int64_t, Evidence& evidence) { observe(answers, evidence, divergence); },
    .value = mean_of};
extern constinit const MetricDef same_token_metric_def{
    .name = "same_token",
    .title = "same likeliest token",
    .doc = "share of tokens behind which the likeliest next one is that of the original or first model",
    .targets = kOf,
    .is_share = true,
    .observe = [](const Answers& answers, int64_t, Evidence& evidence) { observe(answers, evidence, is_same_class); },
    .value = mean_of};

}  // namespace hone
