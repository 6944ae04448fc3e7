// Evidence: class a was answered by b (by the class after the last where a score is NaN) c times in a sample.
#include <cmath>
#include <map>

#include "measure/metric.h"
#include "measure/prediction.h"

namespace hone {
namespace {

void observe(const Answers& answers, int64_t, Evidence& evidence) {
  const int64_t of_sample = answers.rows() / answers.samples;
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    std::map<std::pair<int64_t, int64_t>, int64_t> cells;
    for (int64_t r = sample * of_sample; r < (sample + 1) * of_sample; ++r)
      if (const int64_t right = answers.classes[static_cast<size_t>(r)]; right != kIgnored) {
        const int64_t predicted = predicted_class(answers.row(r));
        ++cells[{right, predicted < 0 ? answers.width : predicted}];
        ++evidence.counted;
      }
    for (const auto& [cell, times] : cells)
      evidence.rows.push_back(
          {sample, static_cast<double>(cell.first), static_cast<double>(cell.second), static_cast<double>(times)});
  }
}

// R_K of Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient" (2004), which is
// Matthews' coefficient for two classes.
double value(const Evidence& evidence, std::span<const double> weights) {
  std::vector<double> right(static_cast<size_t>(evidence.width) + 1), predicted(right.size());
  double all = 0, correct = 0;
  for (const Evidence::Row& row : evidence.rows) {
    const double times = weights[static_cast<size_t>(row.sample)] * row.c;
    right[static_cast<size_t>(row.a)] += times, predicted[static_cast<size_t>(row.b)] += times;
    all += times;
    if (row.a == row.b) correct += times;
  }
  double both = 0, rights = 0, predictions = 0;
  for (size_t k = 0; k < right.size(); ++k) {
    both += right[k] * predicted[k];
    rights += right[k] * right[k], predictions += predicted[k] * predicted[k];
  }
  const double scale = (all * all - rights) * (all * all - predictions);
  return scale > 0 ? (correct * all - both) / std::sqrt(scale) : 0;
}

}  // namespace

extern constinit const MetricDef mcc_metric_def{
    .name = "mcc",
    .title = "Matthews correlation",
    .doc =
        "correlation of the right with the given classes, -1 to 1; 0 where all rows are of one class, or are given "
        "one",
    .targets = kinds(TargetKind::classes),
    .observe = observe,
    .value = value};

}  // namespace hone
