// Evidence: class or label a was found (b 0), wrongly claimed (1) or missed (2), c times in a sample.
#include <algorithm>
#include <cmath>
#include <map>

#include "measure/metric.h"
#include "measure/prediction.h"

namespace hone {
namespace {

constexpr int kFound = 0, kClaimed = 1, kMissed = 2;

using Counts = std::map<std::pair<int64_t, int>, int64_t>;

bool count_class(const Answers& answers, int64_t row, Counts& counts) {
  const int64_t right = answers.classes[static_cast<size_t>(row)];
  if (right == kIgnored) return false;
  const int64_t predicted = predicted_class(answers.row(row));
  if (predicted == right) ++counts[{right, kFound}];
  else ++counts[{right, kMissed}];
  if (predicted != right && predicted >= 0) ++counts[{predicted, kClaimed}];
  return true;
}

bool count_labels(const Answers& answers, int64_t row, Counts& counts) {
  const std::span<const float> scores = answers.row(row), labels = answers.value_row(row);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(labels[i])) continue;
    const bool claimed = scores[i] > 0, holds = labels[i] == 1;
    if (claimed || holds) ++counts[{static_cast<int64_t>(i), !claimed ? kMissed : holds ? kFound : kClaimed}];
  }
  return true;
}

void observe(const Answers& answers, int64_t, Evidence& evidence) {
  const int64_t of_sample = answers.rows() / answers.samples;
  const auto count = answers.kind == TargetKind::labels ? count_labels : count_class;
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    Counts counts;
    for (int64_t r = sample * of_sample; r < (sample + 1) * of_sample; ++r)
      evidence.counted += count(answers, r, counts);
    for (const auto& [what, times] : counts)
      evidence.rows.push_back(
          {sample, static_cast<double>(what.first), static_cast<double>(what.second), static_cast<double>(times)});
  }
}

struct OfClass {
  double found = 0, claimed = 0, missed = 0;
  double seen() const { return found + claimed + missed; }
  double f1() const { return seen() > 0 ? 2 * found / (2 * found + claimed + missed) : 0; }
};

std::vector<OfClass> by_class(const Evidence& evidence, std::span<const double> weights) {
  std::vector<OfClass> all(static_cast<size_t>(evidence.width));
  for (const Evidence::Row& row : evidence.rows) {
    OfClass& one = all[static_cast<size_t>(row.a)];
    const double times = weights[static_cast<size_t>(row.sample)] * row.c;
    (row.b == kFound ? one.found : row.b == kClaimed ? one.claimed : one.missed) += times;
  }
  return all;
}

// Of labels all count, of classes those that occur among the right or the given answers.
double macro(const Evidence& evidence, std::span<const double> weights) {
  double sum = 0, classes = 0;
  for (const OfClass& one : by_class(evidence, weights))
    if (evidence.kind == TargetKind::labels || one.seen() > 0) sum += one.f1(), ++classes;
  return classes > 0 ? sum / classes : 0;
}

double micro(const Evidence& evidence, std::span<const double> weights) {
  OfClass all;
  for (const OfClass& one : by_class(evidence, weights))
    all.found += one.found, all.claimed += one.claimed, all.missed += one.missed;
  return all.f1();
}

double of_ones_or_macro(const Evidence& evidence, std::span<const double> weights) {
  const bool two = evidence.kind == TargetKind::classes && evidence.width == 2;
  return two ? by_class(evidence, weights)[1].f1() : macro(evidence, weights);
}

constexpr TargetKinds kOf = kinds(TargetKind::classes, TargetKind::labels);

}  // namespace

extern constinit const MetricDef f1_metric_def{
    .name = "f1",
    .title = "F1",
    .doc = "harmonic mean of precision and recall: of class 1 where there are two classes, else as f1_macro",
    .targets = kOf,
    .observe = observe,
    .value = of_ones_or_macro};
extern constinit const MetricDef f1_macro_metric_def{
    .name = "f1_macro",
    .title = "macro F1",
    .doc = "mean of F1 over classes that occur, or over all labels; 0 for a label that neither holds nor is claimed",
    .targets = kOf,
    .observe = observe,
    .value = macro};
extern constinit const MetricDef f1_micro_metric_def{
    .name = "f1_micro",
    .title = "micro F1",
    .doc = "F1 of the sums over classes or labels; of classes it is the accuracy",
    .targets = kOf,
    .observe = observe,
    .value = micro};

}  // namespace hone
