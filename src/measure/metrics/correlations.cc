// Evidence: a model's number a for the right number b; of ranks, their places among the different numbers.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "measure/metric.h"

namespace hone {
namespace {

void observe(const Answers& answers, int64_t, Evidence& evidence) {
  if (answers.width != 1 || answers.rows() != answers.samples)
    fail("a correlation is of one number a sample; the model gives {}",
         static_cast<int64_t>(answers.scores.size()) / answers.samples);
  for (int64_t sample = 0; sample < answers.samples; ++sample) {
    const auto i = static_cast<size_t>(sample);
    if (std::isnan(answers.values[i])) continue;
    evidence.rows.push_back({sample, answers.scores[i], answers.values[i]});
    ++evidence.counted;
  }
}

// `a` and `b` give the number of a row.
template <class A, class B>
double correlation(const Evidence& evidence, std::span<const double> weights, A a, B b) {
  double n = 0, sum_a = 0, sum_b = 0;
  for (const Evidence::Row& row : evidence.rows) {
    const double weight = weights[static_cast<size_t>(row.sample)];
    n += weight, sum_a += weight * a(row), sum_b += weight * b(row);
  }
  double ab = 0, aa = 0, bb = 0;
  for (const Evidence::Row& row : evidence.rows) {
    const double weight = weights[static_cast<size_t>(row.sample)], x = a(row) - sum_a / n, y = b(row) - sum_b / n;
    ab += weight * x * y, aa += weight * x * x, bb += weight * y * y;
  }
  return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);  // NaN stays NaN
}

double pearson(const Evidence& evidence, std::span<const double> weights) {
  return correlation(
      evidence, weights, [](const Evidence::Row& row) { return row.a; },
      [](const Evidence::Row& row) { return row.b; });
}

// Numbers become their places among the different ones, so that ranks under any weights are sums along them. A NaN,
// which has no place, stays.
void place(Evidence& evidence, double Evidence::Row::*member) {
  std::vector<double> sorted;
  for (const Evidence::Row& row : evidence.rows)
    if (!std::isnan(row.*member)) sorted.push_back(row.*member);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (Evidence::Row& row : evidence.rows)
    if (!std::isnan(row.*member))
      row.*member = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), row.*member) - sorted.begin());
}

void place_both(Evidence& evidence) {
  place(evidence, &Evidence::Row::a);
  place(evidence, &Evidence::Row::b);
}

// By place: the mean rank of the rows that are there.
std::vector<double> ranks(const Evidence& evidence, std::span<const double> weights, double Evidence::Row::*member) {
  std::vector<double> at(evidence.rows.size());
  for (const Evidence::Row& row : evidence.rows)
    at[static_cast<size_t>(row.*member)] += weights[static_cast<size_t>(row.sample)];
  double below = 0;
  for (double& place : at) {
    const double here = place;
    place = below + (here + 1) / 2;
    below += here;
  }
  return at;
}

double spearman(const Evidence& evidence, std::span<const double> weights) {
  for (const Evidence::Row& row : evidence.rows)
    if (std::isnan(row.a) || std::isnan(row.b)) return NAN;
  const std::vector<double> a = ranks(evidence, weights, &Evidence::Row::a),
                            b = ranks(evidence, weights, &Evidence::Row::b);
  return correlation(
      evidence, weights, [&](const Evidence::Row& row) { return a[static_cast<size_t>(row.a)]; },
      [&](const Evidence::Row& row) { return b[static_cast<size_t>(row.b)]; });
}

}  // namespace

extern constinit const MetricDef pearson_metric_def{
    .name = "pearson",
    .title = "Pearson correlation",
    .doc = "linear correlation with the right numbers, -1 to 1; 0 where either is constant",
    .targets = kinds(TargetKind::numbers),
    .observe = observe,
    .value = pearson};
extern constinit const MetricDef spearman_metric_def{
    .name = "spearman",
    .title = "Spearman correlation",
    .doc = "correlation of ranks with the right numbers, equal ones sharing theirs; 0 where either is constant",
    .targets = kinds(TargetKind::numbers),
    .observe = observe,
    .prepare = place_both,
    .value = spearman};

}  // namespace hone
