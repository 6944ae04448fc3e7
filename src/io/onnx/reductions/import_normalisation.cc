// Normalisations of each sample by its own statistics.
#include <limits>
#include <numeric>

#include "io/onnx/formula.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/rounding.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

using onnx::Formula;
using onnx::widened;

std::vector<int64_t> axes_from(int64_t axis, int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

Formula mean_over(Formula x, const std::vector<int64_t>& axes) { return x.apply(reduce_mean_def, {{"axes", axes}}); }

// The first of the axes that are normalised together.
int64_t first_axis(const OnnxNode& n, ValueId x) {
  const auto rank = static_cast<int64_t>(n.rank(x)), axis = n.integer("axis", -1);
  if (axis < -rank || axis >= rank) fail("axis {} does not exist in {}", axis, to_string(n.type(x)));
  return axis < 0 ? axis + rank : axis;
}

// `op` normalises the last axis, and has operands weight and bias along it. Several axes become one; scale and bias
// that are not just as long are applied after it.
Formula normalised(OnnxNode& n, const OpDef& op, int64_t axis) {
  const ValueId x = n.in(0), scale = n.in(1), bias = n.in_or_none(2);
  const Shape shape = n.shape(x);
  const Shape lead(shape.begin(), shape.begin() + axis), own(shape.begin() + axis, shape.end());
  const Dim length = element_count(own);
  Shape rows = lead;
  rows.push_back(length);
  const bool fits = n.type(scale).shape == own && (bias == kNone || n.type(bias).shape == own);
  std::vector<ValueId> operands{n.reshape(x, rows)};
  if (fits)
    for (ValueId vector : {scale, bias})
      if (vector != kNone) operands.push_back(n.reshape(vector, {length}));
  Formula y(n, n.reshape(n.emit({&op, operands, {{"epsilon", n.number("epsilon", 1e-5)}}}), shape));
  if (!fits) y = y * Formula(n, scale);
  if (!fits && bias != kNone) y = y + Formula(n, bias);
  return y;
}

std::vector<ValueId> import_layer_normalisation(OnnxNode& n) {
  const ValueId x = n.in(0);
  const int64_t axis = first_axis(n, x);
  std::vector<ValueId> results{normalised(n, layer_norm_def, axis)};
  if (!n.wants(1) && !n.wants(2)) return results;
  const std::vector<int64_t> axes = axes_from(axis, static_cast<int64_t>(n.rank(x)));
  const DType stash = n.dtype("stash_type", DType::f32);
  const Formula wide = widened(n, x), mean = mean_over(wide, axes), variance = mean_over(square(wide - mean), axes);
  results.push_back(mean.cast(stash));
  results.push_back((variance + n.number("epsilon", 1e-5)).apply(rsqrt_def).cast(stash));
  return results;
}

std::vector<ValueId> import_rms_normalisation(OnnxNode& n) {
  return {normalised(n, rms_norm_def, first_axis(n, n.in(0)))};
}

// (x - mean) / (deviation + 1e-9), as the standard's function body has it.
std::vector<ValueId> import_mean_variance_normalisation(OnnxNode& n) {
  const ValueId x = n.in(0);
  const std::vector<int64_t> axes = n.integers("axes", std::vector<int64_t>{0, 2, 3});
  const Formula wide = widened(n, x), centred = wide - mean_over(wide, axes);
  return {(centred / (sqrt(mean_over(square(centred), axes)) + 1e-9)).cast(n.type(x).dtype)};
}

// x / norm; 0 where the norm is.
std::vector<ValueId> import_lp_normalisation(OnnxNode& n) {
  const Formula x = widened(n, n.in(0));
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) fail("p is {}; accepted: 1, 2", p);
  const Attributes along{{"axes", std::vector<int64_t>{n.integer("axis", -1)}}};
  const Formula norm =
      p == 1 ? x.apply(abs_def).apply(reduce_sum_def, along) : sqrt(square(x).apply(reduce_sum_def, along));
  const double tiny = double{std::numeric_limits<float>::min()};
  return {(x / norm.apply(clip_def, {{"min", tiny}})).cast(n.type(n.in(0)).dtype)};
}

constexpr OnnxOperator kOperators[] = {
    {"LayerNormalization", 1, import_layer_normalisation},  // of ONNX Runtime before the standard had it
    {"LayerNormalization", 1, import_layer_normalisation, "com.microsoft"},
    {"LpNormalization", 1, import_lp_normalisation},
    {"MeanVarianceNormalization", 9, import_mean_variance_normalisation},
    {"RMSNormalization", 23, import_rms_normalisation},
    {"SimplifiedLayerNormalization", 1, import_rms_normalisation},  // of ONNX Runtime
    {"SimplifiedLayerNormalization", 1, import_rms_normalisation, "com.microsoft"},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_normalisation_def{.name = "normalisation", .operators = kOperators};

}  // namespace hone
