// softmax and log_softmax, with the maximum subtracted first so that exp can't overflow.
#include <cmath>
#include <limits>

#include "ops/elements.h"
#include "ops/row.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "the axis that sums to 1; default -1"}};

std::vector<TensorType> infer_softmax(const InferArgs& a) {
  expect_float(a[0], "x");
  checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].rank());
  return {plain_type(a[0].dtype, a[0].shape)};
}

template <class Result>
std::vector<Tensor> eval_along_axis(const EvalArgs& a, Result result) {
  std::vector<double> x = a[0].to_doubles();
  const AxisView view =
      around_axis(a[0].shape(), checked_axis(a.attributes.get_or<int64_t>("axis", -1), a[0].shape().size()));
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t j = 0; j < view.inner; ++j) {
      check_stop();
      const auto at = [&](int64_t i) -> double& {
        return x[static_cast<size_t>((o * view.length + i) * view.inner + j)];
      };
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i = 0; i < view.length; ++i) most = at(i) > most ? at(i) : most;
      for (int64_t i = 0; i < view.length; ++i) sum += std::exp(at(i) - most);
      for (int64_t i = 0; i < view.length; ++i) at(i) = result(at(i) - most, sum);
    }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), x)};
}

RowRule softmax_rows(Args a) {
  const RowPositions p = row_positions(a, 2);
  return {.reductions = {{Reduction::Kind::max, a[0]}, {Reduction::Kind::sum, exp(a[0] - p.value(0)), true}},
          .results = {p.kept(1) * (1 / p.value(1))}};
}

RowRule log_softmax_rows(Args a) {
  const RowPositions p = row_positions(a, 2);
  return {.reductions = {{Reduction::Kind::max, a[0]}, {Reduction::Kind::sum, exp(a[0] - p.value(0))}},
          .results = {a[0] - p.value(0) - log(p.value(1))}};
}

}  // namespace

extern constinit const OpDef softmax_def{
    .name = "softmax",
    .doc =
        "exp(x) / sum(exp(x)) along an axis, which may have no elements. A row that is all -inf gives NaN, as in ONNX "
        "Softmax-13.",
    .attributes = kAttributes,
    .infer = infer_softmax,
    .eval =
        [](const EvalArgs& a) { return eval_along_axis(a, [](double x, double sum) { return std::exp(x) / sum; }); },
    .transposed = transposed_along_row,
    .row = softmax_rows};
extern constinit const OpDef log_softmax_def{
    .name = "log_softmax",
    .doc = "x - log(sum(exp(x))) along an axis.",
    .attributes = kAttributes,
    .infer = infer_softmax,
    .eval =
        [](const EvalArgs& a) { return eval_along_axis(a, [](double x, double sum) { return x - std::log(sum); }); },
    .transposed = transposed_along_row,
    .row = log_softmax_rows};

}  // namespace hone
