// Reductions over axes: reduce_sum, reduce_mean, reduce_max, reduce_min.
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/elements.h"
#include "ops/row.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axes", AttributeKind::integers, false, "axes that are reduced; default: all"},
    {"keepdims", AttributeKind::integer, false, "1 (default): reduced axes stay with length 1; 0: they go"},
};

std::vector<bool> reduced_axes(const Attributes& attributes, size_t rank) {
  const auto axes = attributes.get_or<std::vector<int64_t>>("axes", {});
  std::vector<bool> reduced(rank, !attributes.has("axes"));
  for (size_t axis : checked_axes(axes, rank)) reduced[axis] = true;
  return reduced;
}

std::vector<TensorType> infer_reduce(const InferArgs& a) {
  if (a[0].dtype == DType::boolean || a[0].dtype == DType::string)
    fail("x is {}; accepted: floats and integers. Insert a cast", to_string(a[0]));
  const std::vector<bool> reduced = reduced_axes(a.attributes, a[0].rank());
  const bool keep = a.attributes.get_or<int64_t>("keepdims", 1) != 0;
  Shape shape;
  for (size_t i = 0; i < a[0].rank(); ++i) {
    if (!reduced[i]) shape.push_back(a[0].shape[i]);
    else if (keep) shape.push_back(1);
  }
  return {plain_type(a[0].dtype, shape)};
}

std::vector<TensorType> infer_mean(const InferArgs& a) {
  expect_float(a[0], "x");
  return infer_reduce(a);
}

// An extreme needs at least one element.
std::vector<TensorType> infer_extreme(const InferArgs& a) {
  const std::vector<bool> reduced = reduced_axes(a.attributes, a[0].rank());
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i] && a[0].shape[i] == Dim(0)) fail("axis {} has no elements, so it has no extreme", i);
  return infer_reduce(a);
}

// Folds x along the reduced axes with `combine`, from `start`; T is double or int64_t.
template <class T, class Combine>
std::vector<T> reduced(const std::vector<T>& x, const EvalArgs& a, T start, Combine combine) {
  const std::vector<int64_t>& sizes = a[0].shape();
  const std::vector<bool> gone = reduced_axes(a.attributes, sizes.size());
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t count = 1;
  for (size_t i = sizes.size(); i-- > 0;)
    if (!gone[i]) strides[i] = count, count *= sizes[i];
  std::vector<T> out(static_cast<size_t>(count), start);
  size_t next = 0;
  for_each_offset(sizes, strides,
                  [&](int64_t at) { out[static_cast<size_t>(at)] = combine(out[static_cast<size_t>(at)], x[next++]); });
  return out;
}

// Floats in double, integers in i64; `start` for each.
template <class Combine>
std::vector<Tensor> eval_reduce(const EvalArgs& a, double start, int64_t integer_start, Combine combine) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  if (is_float(a[0].dtype()))
    return {Tensor::from_doubles(a.results[0].dtype, sizes, reduced(a[0].to_doubles(), a, start, combine))};
  return {
      Tensor::of<int64_t>(sizes, reduced(a[0].to_integers(), a, integer_start, combine)).converted(a.results[0].dtype)};
}

constexpr auto kSum = []<class T>(T sum, T x) -> T {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x));  // wraps
  else return sum + x;
};
constexpr auto kMax = []<class T>(T most, T x) { return most != most || most >= x ? most : x; };  // NaN wins
constexpr auto kMin = []<class T>(T least, T x) { return least != least || least <= x ? least : x; };
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

std::vector<Tensor> eval_mean(const EvalArgs& a) {
  std::vector<double> means = reduced(a[0].to_doubles(), a, 0.0, kSum);
  const double count = means.empty() ? 1 : static_cast<double>(a[0].elements()) / static_cast<double>(means.size());
  for (double& mean : means) mean /= count;
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), means)};
}

RowRule row_of(Args a, Reduction::Kind kind) {
  return {.reductions = {{kind, a[0]}}, .results = {row_positions(a, 1).value(0)}};
}

}  // namespace

extern constinit const OpDef reduce_sum_def{.name = "reduce_sum",
                                            .doc = "The sum over axes; integers wrap.",
                                            .attributes = kAttributes,
                                            .infer = infer_reduce,
                                            .eval = [](const EvalArgs& a) { return eval_reduce(a, 0, 0, kSum); },
                                            .codegen = Codegen::row,
                                            .row = [](Args a) { return row_of(a, Reduction::Kind::sum); }};
extern constinit const OpDef reduce_mean_def{.name = "reduce_mean",
                                             .doc = "The mean over axes; floats only. Over no elements it is NaN.",
                                             .attributes = kAttributes,
                                             .infer = infer_mean,
                                             .eval = eval_mean,
                                             .codegen = Codegen::row,
                                             .row = [](Args a) {
                                               RowRule rule = row_of(a, Reduction::Kind::sum);
                                               rule.results[0] = rule.results[0] / row_positions(a, 1).length();
                                               return rule;
                                             }};
extern constinit const OpDef reduce_max_def{
    .name = "reduce_max",
    .doc = "The largest element over axes; NaN if any is.",
    .attributes = kAttributes,
    .infer = infer_extreme,
    .eval = [](const EvalArgs& a) { return eval_reduce(a, -kInfinity, kLeast, kMax); },
    .codegen = Codegen::row,
    .row = [](Args a) { return row_of(a, Reduction::Kind::max); }};
extern constinit const OpDef reduce_min_def{
    .name = "reduce_min",
    .doc = "The smallest element over axes; NaN if any is.",
    .attributes = kAttributes,
    .infer = infer_extreme,
    .eval = [](const EvalArgs& a) { return eval_reduce(a, kInfinity, kMost, kMin); },
    .codegen = Codegen::row,
    .row = [](Args a) { return row_of(a, Reduction::Kind::min); }};

}  // namespace hone
