// cosine_window: the windows of Hann, Hamming and Blackman, sums of few cosines.
#include <cmath>
#include <numbers>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"coefficients", AttributeKind::numbers, true, "a0, a1, ...: Hann 0.5,-0.5; Blackman 0.42,-0.5,0.08"},
    {"size", AttributeKind::shape, false, "one value: the number of elements; or operand 0"},
    {"periodic", AttributeKind::integer, false, "1 (default): N = size; 0: N = size - 1, symmetric"},
    {"dtype", AttributeKind::dtype, false, "default f32"},
};

std::vector<TensorType> infer_window(const InferArgs& a) {
  const TensorType type = plain_type(a.attributes.get_or<DType>("dtype", DType::f32), {dim_argument(a, 0, "size", 0)});
  expect_not_string(type, "the result");
  return {type};
}

std::vector<Tensor> eval_window(const EvalArgs& a) {
  const auto& coefficients = a.attributes.get<std::vector<double>>("coefficients");
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const bool periodic = a.attributes.get_or<int64_t>("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<int64_t>(periodic ? sizes[0] : sizes[0] - 1, 1));
  std::vector<double> window(static_cast<size_t>(sizes[0]));
  for (size_t n = 0; n < window.size(); ++n) {
    check_stop();
    for (size_t k = 0; k < coefficients.size(); ++k)
      window[n] +=
          coefficients[k] * std::cos(2 * std::numbers::pi * static_cast<double>(k) * static_cast<double>(n) / period);
  }
  return {Tensor::of<double>(sizes, window).converted(a.results[0].dtype)};
}

}  // namespace

extern constinit const OpDef cosine_window_def{
    .name = "cosine_window",
    .doc =
        "w[n] = sum over k of coefficients[k] · cos(2π·k·n / N), n < size; the size is operand 0 where it is computed.",
    .operands = {computed("computed_size")},
    .attributes = kAttributes,
    .infer = infer_window,
    .eval = eval_window,
    .no_gradient = "its operand is a size"};

}  // namespace hone
