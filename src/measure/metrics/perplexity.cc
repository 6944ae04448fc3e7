// Evidence: a nats in b rows that count.
#include <algorithm>
#include <cmath>

#include "measure/metric.h"

namespace hone {
namespace {

// -log of what softmax gives the right class.
double nats(std::span<const float> scores, int64_t right) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (float s : scores) sum += std::exp(static_cast<double>(s) - most);
  return most + std::log(sum) - static_cast<double>(scores[static_cast<size_t>(right)]);
}

void observe(const Answers& answers, int64_t, Evidence& evidence) {
  const int64_t of_sample = answers.rows() / answers.samples;
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    Evidence::Row found{.sample = sample};
    for (int64_t r = sample * of_sample; r < (sample + 1) * of_sample; ++r)
      if (const int64_t right = answers.classes[static_cast<size_t>(r)]; right != kIgnored)
        found.a += nats(answers.row(r), right), ++found.b;
    evidence.rows.push_back(found);
    evidence.counted += static_cast<int64_t>(found.b);
  }
}

double perplexity(const Evidence& evidence, std::span<const double> weights) {
  return std::exp(mean_of(evidence, weights));
}

constexpr TargetKinds kOf = kinds(TargetKind::classes);

}  // namespace

extern constinit const MetricDef perplexity_metric_def{
    .name = "perplexity",
    .title = "perplexity",
    .doc = "exp of the mean negative log-likelihood, by softmax, of the right class or next token",
    .targets = kOf,
    .larger_is_better = false,
    .observe = observe,
    .value = perplexity};
extern constinit const MetricDef cross_entropy_metric_def{
    .name = "cross_entropy",
    .title = "cross-entropy, nats",
    .doc = "mean negative log-likelihood, by softmax, of the right class or next token",
    .targets = kOf,
    .larger_is_better = false,
    .observe = observe,
    .value = mean_of};

}  // namespace hone
