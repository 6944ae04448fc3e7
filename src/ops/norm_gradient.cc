// Gradients of normalisations over the last axis by what they normalise: what their rules in gradients/ emit, one
// kernel each. With g = d * weight and the factor r by which a row is scaled, the gradient is r (g - what g says of r
// and of the mean): Ba et al., "Layer Normalization" (2016), differentiated.
#include <cmath>

#include "ops/elements.h"
#include "ops/row.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr double kLayerEpsilon = 1e-5, kRmsEpsilon = 1e-6, kL2Epsilon = 1e-12;
constexpr AttributeSpec kLayerAttributes[] = {
    {"epsilon", AttributeKind::number, false, "that of layer_norm; default 1e-5"}};
constexpr AttributeSpec kRmsAttributes[] = {
    {"epsilon", AttributeKind::number, false, "that of rms_norm; default 1e-6"}};
constexpr AttributeSpec kL2Attributes[] = {
    {"epsilon", AttributeKind::number, false, "that of l2_normalise; default 1e-12"}};
constexpr const char* kNoGradient = "second derivatives of normalisations have no rule";

std::vector<TensorType> infer_rows(const InferArgs& a) {
  expect_float(a[0], "x");
  expect_float(a[1], "d");
  if (a[0].rank() < 1) fail("x is a scalar, which has no last axis");
  expect_rank(a[1], a[0].rank(), a[0].rank(), "d");
  for (size_t i = 0; i < a[0].rank(); ++i) expect_dim(a[1].shape[i], a[0].shape[i], "a dimension of d, that of x,");
  if (a.has(2)) {
    expect_float(a[2], "weight");
    expect_rank(a[2], 1, 1, "weight");
    expect_dim(a[2].shape[0], a[0].shape.back(), "the length of weight, one per column of x,");
  }
  return {plain_type(sum_dtype(a, 0, 1), a[0].shape)};
}

// Calls gradient(x, g, length) on each row, which leaves the gradient in g.
template <class Gradient>
std::vector<Tensor> eval_rows(const EvalArgs& a, Gradient gradient) {
  std::vector<double> x = a[0].to_doubles(), g = a[1].to_doubles();
  const std::vector<double> weight = a.has(2) ? a[2].to_doubles() : std::vector<double>();
  const int64_t length = a[0].dim(-1);
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(length)) {
    check_stop();
    if (a.has(2))
      for (size_t i = 0; i < weight.size(); ++i) g[row + i] *= weight[i];
    gradient(x.data() + row, g.data() + row, length);
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), g)};
}

double mean_of(const double* row, int64_t length) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += row[i];
  return sum / static_cast<double>(length);
}

// r (g - r² mean(g x) x), with x as it is after a mean was subtracted from it, and that of g from g.
void scaled_gradient(const double* x, double* g, int64_t length, double epsilon) {
  const auto n = static_cast<double>(length);
  const double r = 1 / std::sqrt(dot(x, x, length) / n + epsilon), along = r * r * dot(g, x, length) / n;
  for (int64_t i = 0; i < length; ++i) g[i] = r * (g[i] - along * x[i]);
}

std::vector<Tensor> eval_layer_norm_gradient(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", kLayerEpsilon);
  return eval_rows(a, [=](double* x, double* g, int64_t length) {
    const double mean = mean_of(x, length), mean_g = mean_of(g, length);
    for (int64_t i = 0; i < length; ++i) x[i] -= mean, g[i] -= mean_g;
    scaled_gradient(x, g, length, epsilon);
  });
}

std::vector<Tensor> eval_rms_norm_gradient(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", kRmsEpsilon);
  return eval_rows(a, [=](double* x, double* g, int64_t length) { scaled_gradient(x, g, length, epsilon); });
}

std::vector<Tensor> eval_l2_normalise_gradient(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", kL2Epsilon);
  return eval_rows(a, [=](double* x, double* g, int64_t length) {
    const double squares = dot(x, x, length), norm = std::sqrt(squares);
    const double along = norm > epsilon ? dot(g, x, length) / squares : 0;
    for (int64_t i = 0; i < length; ++i) g[i] = (g[i] - along * x[i]) / std::max(norm, epsilon);
  });
}

Expr weighted(Args a) { return a.operands.size() > 2 ? a[1] * a[2] : a[1]; }

RowRule layer_norm_gradient_rows(Args a) {
  const RowPositions p = row_positions(a, 4);
  const Expr g = weighted(a), per_element = 1 / p.length();
  const Expr centred = a[0] - p.value(0) * per_element, centred_g = g - p.value(1) * per_element;
  const Expr r = 1 / sqrt(p.value(2) * per_element + a.attributes.get_or<double>("epsilon", kLayerEpsilon));
  return {.reductions = {{Reduction::Kind::sum, a[0]},
                         {Reduction::Kind::sum, g},
                         {Reduction::Kind::sum, centred * centred},
                         {Reduction::Kind::sum, centred_g * centred}},
          .results = {r * (centred_g - r * r * (p.value(3) * per_element) * centred)}};
}

RowRule rms_norm_gradient_rows(Args a) {
  const RowPositions p = row_positions(a, 2);
  const Expr g = weighted(a), per_element = 1 / p.length();
  const Expr r = 1 / sqrt(p.value(0) * per_element + a.attributes.get_or<double>("epsilon", kRmsEpsilon));
  return {.reductions = {{Reduction::Kind::sum, a[0] * a[0]}, {Reduction::Kind::sum, g * a[0]}},
          .results = {r * (g - r * r * (p.value(1) * per_element) * a[0])}};
}

RowRule l2_normalise_gradient_rows(Args a) {
  const RowPositions p = row_positions(a, 2);
  const double epsilon = a.attributes.get_or<double>("epsilon", kL2Epsilon);
  const Expr norm = sqrt(p.value(0)), along = select(norm > epsilon, p.value(1) / p.value(0), 0);
  return {.reductions = {{Reduction::Kind::sum, a[0] * a[0]}, {Reduction::Kind::sum, a[1] * a[0]}},
          .results = {(a[1] - along * a[0]) * (1 / max(norm, epsilon))}};
}

}  // namespace

extern constinit const OpDef layer_norm_gradient_def{
    .name = "layer_norm_gradient",
    .doc =
        "The gradient of x where d is that of layer_norm(x, weight): r (h - r^2 mean(h c) c) with c = x - mean(x), "
        "h = d * weight less its mean, r = 1 / sqrt(mean(c^2) + epsilon), over the last axis.",
    .operands = {"x", "d", optional("weight")},
    .attributes = kLayerAttributes,
    .infer = infer_rows,
    .eval = eval_layer_norm_gradient,
    .no_gradient = kNoGradient,
    .row = layer_norm_gradient_rows};
extern constinit const OpDef rms_norm_gradient_def{
    .name = "rms_norm_gradient",
    .doc =
        "The gradient of x where d is that of rms_norm(x, weight): r (g - r^2 mean(g x) x) with g = d * weight, "
        "r = 1 / sqrt(mean(x^2) + epsilon), over the last axis.",
    .operands = {"x", "d", optional("weight")},
    .attributes = kRmsAttributes,
    .infer = infer_rows,
    .eval = eval_rms_norm_gradient,
    .no_gradient = kNoGradient,
    .row = rms_norm_gradient_rows};
extern constinit const OpDef l2_normalise_gradient_def{
    .name = "l2_normalise_gradient",
    .doc =
        "The gradient of x where d is that of l2_normalise(x): (d - sum(d x) / sum(x^2) x) / sqrt(sum(x^2)) over the "
        "last axis; d / epsilon where the root is not above epsilon.",
    .operands = {"x", "d"},
    .attributes = kL2Attributes,
    .infer = infer_rows,
    .eval = eval_l2_normalise_gradient,
    .no_gradient = kNoGradient,
    .row = l2_normalise_gradient_rows};

}  // namespace hone
