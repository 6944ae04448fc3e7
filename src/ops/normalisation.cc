// Normalisations over the last axis: layer_norm, rms_norm and l2_normalise.
#include <cmath>

#include "ops/elements.h"
#include "ops/row.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr double kLayerEpsilon = 1e-5, kRmsEpsilon = 1e-6, kL2Epsilon = 1e-12;
constexpr AttributeSpec kLayerAttributes[] = {
    {"epsilon", AttributeKind::number, false, "added to the variance; default 1e-5"}};
constexpr AttributeSpec kRmsAttributes[] = {
    {"epsilon", AttributeKind::number, false, "added to the mean square; default 1e-6"}};
constexpr AttributeSpec kL2Attributes[] = {
    {"epsilon", AttributeKind::number, false, "smallest divisor; default 1e-12"}};

std::vector<TensorType> infer_rows(const InferArgs& a) {
  expect_float(a[0], "x");
  if (a[0].rank() < 1) fail("x is a scalar, which has no last axis");
  for (size_t i = 1; i < a.operands.size(); ++i) {
    if (!a.has(i)) continue;
    const char* what = i == 1 ? "weight" : "bias";
    expect_float(a[i], what);
    expect_rank(a[i], 1, 1, what);
    expect_dim(a[i].shape[0], a[0].shape.back(),
               i == 1 ? "the length of weight, one per column of x," : "the length of bias, one per column of x,");
  }
  if (a.has(2) && !a.has(1)) fail("a bias without a weight; give a weight of ones");
  return {plain_type(a[0].dtype, a[0].shape)};
}

// Runs normalise(row, length) on each row, then scales by weight and adds bias where they are present.
template <class Normalise>
std::vector<Tensor> eval_rows(const EvalArgs& a, Normalise normalise) {
  std::vector<double> x = a[0].to_doubles();
  const int64_t length = a[0].dim(-1);
  const std::vector<double> weight = a.has(1) ? a[1].to_doubles() : std::vector<double>(),
                            bias = a.has(2) ? a[2].to_doubles() : std::vector<double>();
  for (double* row = x.data(); row < x.data() + x.size(); row += length) {
    check_stop();
    normalise(row, length);
    for (int64_t i = 0; i < length; ++i) {
      if (a.has(1)) row[i] *= weight[static_cast<size_t>(i)];
      if (a.has(2)) row[i] += bias[static_cast<size_t>(i)];
    }
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), x)};
}

double sum_of_squares(const double* row, int64_t length) { return dot(row, row, length); }

std::vector<Tensor> eval_layer_norm(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", kLayerEpsilon);
  return eval_rows(a, [=](double* row, int64_t length) {
    const auto n = static_cast<double>(length);
    double mean = 0;
    for (int64_t i = 0; i < length; ++i) mean += row[i] / n;
    for (int64_t i = 0; i < length; ++i) row[i] -= mean;
    const double scale = 1 / std::sqrt(sum_of_squares(row, length) / n + epsilon);
    for (int64_t i = 0; i < length; ++i) row[i] *= scale;
  });
}

std::vector<Tensor> eval_rms_norm(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", kRmsEpsilon);
  return eval_rows(a, [=](double* row, int64_t length) {
    const double scale = 1 / std::sqrt(sum_of_squares(row, length) / static_cast<double>(length) + epsilon);
    for (int64_t i = 0; i < length; ++i) row[i] *= scale;
  });
}

std::vector<Tensor> eval_l2_normalise(const EvalArgs& a) {
  const double epsilon = a.attributes.get_or<double>("epsilon", kL2Epsilon);
  return eval_rows(a, [=](double* row, int64_t length) {
    const double scale = 1 / std::max(std::sqrt(sum_of_squares(row, length)), epsilon);
    for (int64_t i = 0; i < length; ++i) row[i] *= scale;
  });
}

Expr with_weight_and_bias(Args a, Expr x) {
  if (a.operands.size() > 1) x = x * a[1];
  if (a.operands.size() > 2) x = x + a[2];
  return x;
}

RowRule layer_norm_rows(Args a) {
  const RowPositions p = row_positions(a, 2);
  const Expr centred = a[0] - p.value(0) * (1 / p.length());
  const Expr scale = 1 / sqrt(p.value(1) * (1 / p.length()) + a.attributes.get_or<double>("epsilon", kLayerEpsilon));
  return {.reductions = {{Reduction::Kind::sum, a[0]}, {Reduction::Kind::sum, centred * centred}},
          .results = {with_weight_and_bias(a, centred * scale)}};
}

RowRule rms_norm_rows(Args a) {
  const RowPositions p = row_positions(a, 1);
  const Expr scale = 1 / sqrt(p.value(0) * (1 / p.length()) + a.attributes.get_or<double>("epsilon", kRmsEpsilon));
  return {.reductions = {{Reduction::Kind::sum, a[0] * a[0]}}, .results = {with_weight_and_bias(a, a[0] * scale)}};
}

RowRule l2_normalise_rows(Args a) {
  const RowPositions p = row_positions(a, 1);
  const Expr norm = max(sqrt(p.value(0)), a.attributes.get_or<double>("epsilon", kL2Epsilon));
  return {.reductions = {{Reduction::Kind::sum, a[0] * a[0]}}, .results = {a[0] * (1 / norm)}};
}

}  // namespace

extern constinit const OpDef layer_norm_def{.name = "layer_norm",
                                            .doc =
                                                "(x - mean) / sqrt(variance + epsilon) * weight[C] + bias[C] over the "
                                                "last axis of x[...,C]; the variance divides by C.",
                                            .operands = {"x", optional("weight"), optional("bias")},
                                            .attributes = kLayerAttributes,
                                            .infer = infer_rows,
                                            .eval = eval_layer_norm,
                                            .row = layer_norm_rows};
extern constinit const OpDef rms_norm_def{
    .name = "rms_norm",
    .doc = "x / sqrt(mean(x^2) + epsilon) * weight[C] over the last axis of x[...,C].",
    .operands = {"x", optional("weight")},
    .attributes = kRmsAttributes,
    .infer = infer_rows,
    .eval = eval_rms_norm,
    .row = rms_norm_rows};
extern constinit const OpDef l2_normalise_def{.name = "l2_normalise",
                                              .doc = "x / max(sqrt(sum(x^2)), epsilon) over the last axis.",
                                              .attributes = kL2Attributes,
                                              .infer = infer_rows,
                                              .eval = eval_l2_normalise,
                                              .row = l2_normalise_rows};

}  // namespace hone
