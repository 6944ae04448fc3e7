// Reductions over axes, positions of extremes and running sums.
#include <limits>

#include "io/onnx/direct.h"
#include "io/onnx/formula.h"
#include "ops/calls/argmax.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cumsum.h"
#include "ops/calls/reduce.h"
#include "ops/calls/rounding.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

using onnx::Formula;
using onnx::widened;

// x reduced by `op` over the axes of the node: an attribute, or an operand since version 13 or 18.
Formula reduced(OnnxNode& n, const OpDef& op, ValueId x, bool keepdims) {
  Attributes attributes{{"keepdims", int64_t{keepdims}}};
  const bool nothing_by_default = n.is_one("noop_with_empty_axes", false);
  std::optional<std::vector<int64_t>> axes =
      n.has(1) ? n.known_integers(n.in(1)) : n.integers("axes", std::vector<int64_t>());
  if (!axes) {
    if (nothing_by_default) attributes.set("noop_with_empty_axes", int64_t{1});
    return {n, n.emit({&op, {x, n.in(1)}, attributes})};
  }
  if (axes->empty() && nothing_by_default) return {n, x};
  if (!axes->empty()) attributes.set("axes", *std::move(axes));
  return {n, n.emit({&op, {x}, attributes})};
}

bool keeps_dims(const OnnxNode& n) { return n.is_one("keepdims", true); }

template <const OpDef& op>
std::vector<ValueId> import_reduction(OnnxNode& n) {
  return {reduced(n, op, n.in(0), keeps_dims(n))};
}

// Integers as f64, whose mean is truncated.
std::vector<ValueId> import_mean(OnnxNode& n) {
  const Formula x(n, n.in(0));
  const DType dtype = is_float(x.dtype()) ? x.dtype() : DType::f64;
  return {reduced(n, reduce_mean_def, x.cast(dtype), keeps_dims(n)).cast(x.dtype())};
}

std::vector<ValueId> import_l1(OnnxNode& n) {
  return {reduced(n, reduce_sum_def, ops::abs(n, {n.in(0)}), keeps_dims(n))};
}

std::vector<ValueId> import_sum_square(OnnxNode& n) {
  const Formula x(n, n.in(0));
  const Formula wide = is_integer(x.dtype()) ? x : widened(n, x);
  return {reduced(n, reduce_sum_def, square(wide), keeps_dims(n)).cast(x.dtype())};
}

std::vector<ValueId> import_l2(OnnxNode& n) {
  const ValueId x = n.in(0);
  return {sqrt(reduced(n, reduce_sum_def, square(widened(n, x)), keeps_dims(n))).cast(n.type(x).dtype)};
}

std::vector<ValueId> import_log_sum(OnnxNode& n) {
  const ValueId x = n.in(0);
  return {reduced(n, reduce_sum_def, widened(n, x), keeps_dims(n)).apply(log_def).cast(n.type(x).dtype)};
}

// most + log(sum(exp(x - most))), where an infinite largest element counts as the largest number: -inf - most is then
// -inf, not NaN.
std::vector<ValueId> import_log_sum_exp(OnnxNode& n) {
  const Formula x = widened(n, n.in(0));
  const double limit =
      x.dtype() == DType::f64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
  const Formula most = reduced(n, reduce_max_def, x, true).apply(clip_def, {{"min", -limit}, {"max", limit}});
  const Formula sum = reduced(n, reduce_sum_def, (x - most).apply(exp_def), keeps_dims(n));
  const Formula added = keeps_dims(n) ? most : reduced(n, reduce_max_def, most, false);
  return {(sum.apply(log_def) + added).cast(n.type(n.in(0)).dtype)};
}

template <const OpDef& op>
std::vector<ValueId> import_position(OnnxNode& n) {
  return {n.emit({&op,
                  {n.in(0)},
                  {{"axis", n.integer("axis", 0)},
                   {"keepdims", n.is_one("keepdims", true)},
                   {"select_last_index", n.is_not_zero("select_last_index", false)}}})};
}

template <const OpDef& op>
std::vector<ValueId> import_running(OnnxNode& n) {
  Attributes attributes{{"exclusive", n.zero_or_one("exclusive", false)}, {"reverse", n.zero_or_one("reverse", false)}};
  const std::optional<std::vector<int64_t>> axis = n.known_integers(n.in(1));
  if (!axis) return {n.emit({&op, {n.in(0), n.in(1)}, attributes})};
  if (axis->size() != 1) fail("axis has {} elements; accepted: 1", axis->size());
  attributes.set("axis", axis->front());
  return {n.emit({&op, {n.in(0)}, attributes})};
}

constexpr OnnxOperator kOperators[] = {
    {"ArgMax", 1, import_position<argmax_def>},
    {"ArgMin", 1, import_position<argmin_def>},
    {"CumProd", 26, import_running<cumprod_def>},
    {"CumSum", 11, import_running<cumsum_def>},
    {"ReduceL1", 1, import_l1},
    {"ReduceL2", 1, import_l2},
    {"ReduceLogSum", 1, import_log_sum},
    {"ReduceLogSumExp", 1, import_log_sum_exp},
    {"ReduceMax", 1, import_reduction<reduce_max_def>},
    {"ReduceMean", 1, import_mean},
    {"ReduceMin", 1, import_reduction<reduce_min_def>},
    {"ReduceProd", 1, import_reduction<reduce_prod_def>},
    {"ReduceSum", 1, import_reduction<reduce_sum_def>},
    {"ReduceSumSquare", 1, import_sum_square},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_reductions_def{.name = "reductions", .operators = kOperators};

}  // namespace hone
