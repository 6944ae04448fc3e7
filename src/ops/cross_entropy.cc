// cross_entropy: the loss of classifiers.
#include <cmath>
#include <limits>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"ignore_index", AttributeKind::integer, false, "rows with this label do not count; default -100"},
    {"label_smoothing", AttributeKind::number, false,
     "the share of a row's target that all classes have alike, from 0 (default) to 1"},
};

std::vector<TensorType> infer_cross_entropy(const InferArgs& a) {
  expect_float(a[0], "logits");
  expect_rank(a[0], 2, 2, "logits [B,C]");
  expect_index(a[1], "labels");
  expect_rank(a[1], 1, 1, "labels [B]");
  expect_dim(a[1].shape[0], a[0].shape[0], "the length of labels, one per row of logits,");
  if (a.has(2)) {
    expect_float(a[2], "weight");
    expect_rank(a[2], 1, 1, "weight [C]");
    expect_dim(a[2].shape[0], a[0].shape[1], "the length of weight, one per class,");
  }
  const double smoothing = a.attributes.get_or<double>("label_smoothing", 0);
  if (!(smoothing >= 0 && smoothing <= 1)) fail("label_smoothing is {}; accepted: 0 to 1", smoothing);
  return {plain_type(a[0].dtype, {})};
}

// log(sum(exp(row))), with the maximum taken out first.
double log_sum_exp(const double* row, int64_t n) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i) most = row[i] > most ? row[i] : most;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(row[i] - most);
  return most + std::log(sum);
}

std::vector<Tensor> eval_cross_entropy(const EvalArgs& a) {
  const std::vector<double> logits = a[0].to_doubles();
  const std::vector<int64_t> labels = a[1].to_integers();
  const int64_t classes = a[0].dim(1), ignored = a.attributes.get_or<int64_t>("ignore_index", -100);
  const double smoothing = a.attributes.get_or<double>("label_smoothing", 0);
  const std::vector<double> weight =
      a.has(2) ? a[2].to_doubles() : std::vector<double>(static_cast<size_t>(classes), 1.0);
  double sum = 0, sum_of_weights = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    check_stop();
    const int64_t label = labels[i];
    if (label == ignored) continue;
    if (label < 0 || label >= classes)
      fail("cross_entropy: label {} of row {} is not a class; accepted: 0 to {}, or {} to ignore the row", label, i,
           classes - 1, ignored);
    const double* row = logits.data() + static_cast<int64_t>(i) * classes;
    const double log_sum = log_sum_exp(row, classes), own = weight[static_cast<size_t>(label)];
    sum += (1 - smoothing) * own * (log_sum - row[label]);
    for (int64_t c = 0; c < classes && smoothing > 0; ++c)
      sum += smoothing / static_cast<double>(classes) * weight[static_cast<size_t>(c)] * (log_sum - row[c]);
    sum_of_weights += own;
  }
  return {Tensor::from_doubles(a.results[0].dtype, {}, std::vector<double>{sum / sum_of_weights})};
}

}  // namespace

extern constinit const OpDef cross_entropy_def{
    .name = "cross_entropy",
    .doc =
        "The sum over the rows of logits[B,C] of weight[label] * (log(sum(exp(logits))) - logits[label]), over the sum "
        "of "
        "those weights (1 when absent); NaN when every row is ignored. Smoothing takes a share of each row's term and "
        "puts the mean over all classes c of weight[c] * (log(sum(exp(logits))) - logits[c]) in its place.",
    .operands = {"logits", "labels", optional("weight")},
    .attributes = kAttributes,
    .infer = infer_cross_entropy,
    .eval = eval_cross_entropy};

}  // namespace hone
