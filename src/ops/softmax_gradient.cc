// Gradients of softmax and log_softmax from their results: what their rules in gradients/ emit, one kernel each.
#include <cmath>

#include "ops/elements.h"
#include "ops/row.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"axis", AttributeKind::integer, false, "that of the softmax; default -1"}};

std::vector<TensorType> infer_softmax_gradient(const InferArgs& a) {
  expect_float(a[0], "y");
  expect_float(a[1], "d");
  checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].rank());
  expect_rank(a[1], a[0].rank(), a[0].rank(), "d");
  for (size_t i = 0; i < a[0].rank(); ++i) expect_dim(a[1].shape[i], a[0].shape[i], "a dimension of d, that of y,");
  return {plain_type(sum_dtype(a, 0, 1), a[0].shape)};
}

// Sums term(y, d) along the axis and puts result(y, d, sum) in place of d.
template <class Term, class Result>
std::vector<Tensor> eval_along_axis(const EvalArgs& a, Term term, Result result) {
  const std::vector<double> y = a[0].to_doubles();
  std::vector<double> d = a[1].to_doubles();
  const AxisView view =
      around_axis(a[0].shape(), checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].shape().size()));
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t j = 0; j < view.inner; ++j) {
      check_stop();
      const auto at = [&](int64_t i) { return static_cast<size_t>((o * view.length + i) * view.inner + j); };
      double sum = 0;
      for (int64_t i = 0; i < view.length; ++i) sum += term(y[at(i)], d[at(i)]);
      for (int64_t i = 0; i < view.length; ++i) d[at(i)] = result(y[at(i)], d[at(i)], sum);
    }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), d)};
}

RowRule softmax_gradient_rows(Args a) {
  return {.reductions = {{Reduction::Kind::sum, a[0] * a[1]}},
          .results = {a[0] * (a[1] - row_positions(a, 1).value(0))}};
}

RowRule log_softmax_gradient_rows(Args a) {
  return {.reductions = {{Reduction::Kind::sum, a[1]}}, .results = {a[1] - exp(a[0]) * row_positions(a, 1).value(0)}};
}

}  // namespace

extern constinit const OpDef softmax_gradient_def{
    .name = "softmax_gradient",
    .doc = "y * (d - sum(d * y)) along an axis: the gradient of x where y = softmax(x) and d is the gradient of y.",
    .operands = {"y", "d"},
    .attributes = kAttributes,
    .infer = infer_softmax_gradient,
    .eval =
        [](const EvalArgs& a) {
          return eval_along_axis(
              a, [](double y, double d) { return y * d; },
              [](double y, double d, double sum) { return y * (d - sum); });
        },
    .row = softmax_gradient_rows};
extern constinit const OpDef log_softmax_gradient_def{
    .name = "log_softmax_gradient",
    .doc = "d - exp(y) * sum(d) along an axis: the gradient of x where y = log_softmax(x) and d is the gradient of y.",
    .operands = {"y", "d"},
    .attributes = kAttributes,
    .infer = infer_softmax_gradient,
    .eval =
        [](const EvalArgs& a) {
          return eval_along_axis(
              a, [](double, double d) { return d; },
              [](double y, double d, double sum) { return d - std::exp(y) * sum; });
        },
    .row = log_softmax_gradient_rows};

}  // namespace hone
