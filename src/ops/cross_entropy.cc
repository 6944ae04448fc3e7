// cross_entropy: the loss of classifiers.
#include <cmath>
#include <limits>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"ignore_index", AttributeKind::integer, false, "rows with this label do not count; default -100"},
};

std::vector<TensorType> infer_cross_entropy(const InferArgs& a) {
  expect_float(a[0], "logits");
  expect_rank(a[0], 2, 2, "logits [B,C]");
  expect_index(a[1], "labels");
  expect_rank(a[1], 1, 1, "labels [B]");
  expect_dim(a[1].shape[0], a[0].shape[0], "the length of labels, one per row of logits,");
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
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    check_stop();
    const int64_t label = labels[i];
    if (label == ignored) continue;
    if (label < 0 || label >= classes)
      fail("cross_entropy: label {} of row {} is not a class; accepted: 0 to {}, or {} to ignore the row", label, i,
           classes - 1, ignored);
    const double* row = logits.data() + static_cast<int64_t>(i) * classes;
    sum += log_sum_exp(row, classes) - row[label];
    ++count;
  }
  return {Tensor::from_doubles(a.results[0].dtype, {}, std::vector<double>{sum / static_cast<double>(count)})};
}

}  // namespace

extern constinit const OpDef cross_entropy_def{.name = "cross_entropy",
                                               .doc =
                                                   "The mean of log(sum(exp(logits))) - logits[label] over the rows of "
                                                   "logits[B,C] with labels[B]; NaN when every row is ignored.",
                                               .operands = {"logits", "labels"},
                                               .attributes = kAttributes,
                                               .infer = infer_cross_entropy,
                                               .eval = eval_cross_entropy};

}  // namespace hone
