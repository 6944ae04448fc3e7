// Reductions over axes: reduce_sum, reduce_mean, reduce_prod, reduce_max, reduce_min. Which axes is an attribute, or an
// operand where it is computed.
#include <limits>
#include <numeric>

#include "ops/elements.h"
#include "ops/row.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axes", AttributeKind::integers, false, "axes that are reduced; default: those of the operand axes, else all"},
    {"keepdims", AttributeKind::integer, false, "1 (default): reduced axes stay with length 1; 0: they go"},
    {"noop_with_empty_axes", AttributeKind::integer, false,
     "1: an operand axes without elements reduces nothing; 0 (default): everything"},
};

bool keeps_dims(const Attributes& attributes) { return attributes.get_or<int64_t>("keepdims", 1) != 0; }

std::vector<bool> marked(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> mask(rank, false);
  for (size_t axis : checked_axes(axes, rank)) mask[axis] = true;
  return mask;
}

// What an operand axes without elements says.
std::vector<bool> by_no_axes(const Attributes& attributes, size_t rank) {
  return std::vector<bool>(rank, attributes.get_or<int64_t>("noop_with_empty_axes", 0) == 0);
}

// Which axes of x go; `axes` is the operand, nullptr where it is absent.
std::vector<bool> reduced_axes(const Attributes& attributes, const Tensor* axes, size_t rank) {
  if (axes && axes->elements() == 0) return by_no_axes(attributes, rank);
  if (axes) return marked(axes->to_integers(), rank);
  if (attributes.has("axes")) return marked(attributes.get<std::vector<int64_t>>("axes"), rank);
  return std::vector<bool>(rank, true);
}

TensorType reduced_type(const TensorType& x, const std::vector<bool>& gone, bool keep) {
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!gone[i]) shape.push_back(x.shape[i]);
    else if (keep) shape.push_back(1);
  }
  return plain_type(x.dtype, shape);
}

// The type while the operand axes is not known: its length says how many axes go.
TensorType reduced_type_of_unknown_axes(const InferArgs& a) {
  const Dim& count = a[1].shape[0];
  if (count == Dim(0)) return reduced_type(a[0], by_no_axes(a.attributes, a[0].rank()), keeps_dims(a.attributes));
  if (keeps_dims(a.attributes)) return plain_type(a[0].dtype, Shape(a[0].rank(), Dim::unknown()));
  if (!count.is_constant()) return TensorType::unranked(a[0].dtype);
  if (count.constant() > static_cast<int64_t>(a[0].rank()))
    fail("{} axes of {}, which has {}", count.constant(), to_string(a[0]), a[0].rank());
  return plain_type(a[0].dtype, Shape(a[0].rank() - static_cast<size_t>(count.constant()), Dim::unknown()));
}

std::vector<TensorType> infer_axes(const InferArgs& a) {
  expect_not_string(a[0], "x");
  if (!a.has(1)) {
    if (a.attributes.has("noop_with_empty_axes"))
      fail("noop_with_empty_axes without an operand axes; give the attribute axes=[] to reduce nothing");
    return {reduced_type(a[0], reduced_axes(a.attributes, nullptr, a[0].rank()), keeps_dims(a.attributes))};
  }
  if (a.attributes.has("axes")) fail("axes is given twice, as operand and as attribute; accepted: one of them");
  expect_index(a[1], "axes");
  expect_rank(a[1], 1, 1, "axes");
  if (!a.constants[1]) return {reduced_type_of_unknown_axes(a)};
  return {reduced_type(a[0], reduced_axes(a.attributes, a.constants[1], a[0].rank()), keeps_dims(a.attributes))};
}

std::vector<TensorType> infer_number(const InferArgs& a) {
  if (a[0].dtype == DType::boolean) fail("x is {}; accepted: floats and integers. Insert a cast", to_string(a[0]));
  return infer_axes(a);
}

std::vector<TensorType> infer_mean(const InferArgs& a) {
  expect_float(a[0], "x");
  return infer_axes(a);
}

// Folds x, the elements of operand 0, along the reduced axes with `combine`, from `start`.
template <class T, class Combine>
std::vector<T> reduced(const std::vector<T>& x, const EvalArgs& a, T start, Combine combine) {
  const std::vector<int64_t>& sizes = a[0].shape();
  const std::vector<bool> gone = reduced_axes(a.attributes, a.has(1) ? &a[1] : nullptr, sizes.size());
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

// `start(T{}, dtype)` is what no elements give.
template <class Start, class Combine>
std::vector<Tensor> eval_reduce(const EvalArgs& a, Start start, Combine combine) {
  const DType dtype = a.results[0].dtype;
  return with_elements(a[0], [&]<class T>(const std::vector<T>& x) -> std::vector<Tensor> {
    return {from_elements(dtype, sizes_of(a.results[0]), reduced(x, a, start(T{}, dtype), combine))};
  });
}

// Extremes of an element type, infinities for floats. Integers: the sign bit alone and all bits but that.
template <class T>
T least(T, DType dtype) {
  if constexpr (std::is_integral_v<T>)
    return is_signed(compute_scalar(dtype)) ? static_cast<T>(~uint64_t{0} << (integer_bits(dtype) - 1)) : T{0};
  else return -std::numeric_limits<T>::infinity();
}
template <class T>
T most(T, DType dtype) {
  if constexpr (std::is_integral_v<T>) {
    if (dtype == DType::boolean) return 1;
    return static_cast<T>(~uint64_t{0} >> (64 - integer_bits(dtype) + (is_signed(compute_scalar(dtype)) ? 1 : 0)));
  } else {
    return std::numeric_limits<T>::infinity();
  }
}

constexpr auto kLeast = [](auto zero, DType dtype) { return least(zero, dtype); };
constexpr auto kMost = [](auto zero, DType dtype) { return most(zero, dtype); };
constexpr auto kZero = [](auto zero, DType) { return zero; };
constexpr auto kOne = []<class T>(T, DType) { return T{1}; };
constexpr auto kSum = [](auto sum, auto x) { return wrapping_sum(sum, x); };
constexpr auto kProduct = [](auto product, auto x) { return wrapping_product(product, x); };
constexpr auto kMax = [](auto most, auto x) { return most != most || most >= x ? most : x; };  // NaN wins
constexpr auto kMin = [](auto least, auto x) { return least != least || least <= x ? least : x; };

std::vector<Tensor> eval_mean(const EvalArgs& a) {
  std::vector<double> means = reduced(a[0].to_doubles(), a, 0.0, kSum);
  const double count = means.empty() ? 1 : static_cast<double>(a[0].elements()) / static_cast<double>(means.size());
  for (double& mean : means) mean /= count;
  return {Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), means)};
}

RowRule row_of(Args a, Reduction::Kind kind) {
  return {.reductions = {{kind, a[0]}}, .results = {row_positions(a, 1).value(0)}};
}

bool follow_each_other(std::vector<int64_t> axes) {
  std::sort(axes.begin(), axes.end());
  return axes.empty() || axes.back() - axes.front() + 1 == std::ssize(axes);
}

// Kernels reduce axes that follow each other, with or without others behind them.
std::optional<Transposed> transposed_rule(const TransposeArgs& a) {
  if (a.operands.size() > 1) return std::nullopt;
  std::vector<int64_t> all(a.perm.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int64_t> axes = a.attributes.get_or<std::vector<int64_t>>("axes", all),
                             after = moved_axes(axes, a.perm);
  if (follow_each_other(moved_axes(axes, all)) && !follow_each_other(after)) return std::nullopt;
  Transposed other{&a.op, a.attributes, a.perm};
  other.attributes.set("axes", after);
  if (a.attributes.get_or<int64_t>("keepdims", 1) == 0) other.result = without(a.perm, after);
  return other;
}

}  // namespace

extern constinit const OpDef reduce_sum_def{.name = "reduce_sum",
                                            .doc = "The sum over axes; integers wrap.",
                                            .operands = {"x", computed("computed_axes")},
                                            .attributes = kAttributes,
                                            .infer = infer_number,
                                            .eval = [](const EvalArgs& a) { return eval_reduce(a, kZero, kSum); },
                                            .transposed = transposed_rule,
                                            .row = [](Args a) { return row_of(a, Reduction::Kind::sum); }};
extern constinit const OpDef reduce_prod_def{.name = "reduce_prod",
                                             .doc = "The product over axes; integers wrap.",
                                             .operands = {"x", computed("computed_axes")},
                                             .attributes = kAttributes,
                                             .infer = infer_number,
                                             .eval = [](const EvalArgs& a) { return eval_reduce(a, kOne, kProduct); },
                                             .transposed = transposed_rule};
extern constinit const OpDef reduce_mean_def{.name = "reduce_mean",
                                             .doc = "The mean over axes; floats only. Over no elements it is NaN.",
                                             .operands = {"x", computed("computed_axes")},
                                             .attributes = kAttributes,
                                             .infer = infer_mean,
                                             .eval = eval_mean,
                                             .transposed = transposed_rule,
                                             .row = [](Args a) {
                                               RowRule rule = row_of(a, Reduction::Kind::sum);
                                               rule.results[0] = rule.results[0] / row_positions(a, 1).length();
                                               return rule;
                                             }};
extern constinit const OpDef reduce_max_def{
    .name = "reduce_max",
    .doc = "The largest element over axes; NaN if any is. Over no elements -inf, or the least value of the type.",
    .operands = {"x", computed("computed_axes")},
    .attributes = kAttributes,
    .infer = infer_axes,
    .eval = [](const EvalArgs& a) { return eval_reduce(a, kLeast, kMax); },
    .transposed = transposed_rule,
    .row = [](Args a) { return row_of(a, Reduction::Kind::max); }};
extern constinit const OpDef reduce_min_def{
    .name = "reduce_min",
    .doc = "The smallest element over axes; NaN if any is. Over no elements inf, or the largest value of the type.",
    .operands = {"x", computed("computed_axes")},
    .attributes = kAttributes,
    .infer = infer_axes,
    .eval = [](const EvalArgs& a) { return eval_reduce(a, kMost, kMin); },
    .transposed = transposed_rule,
    .row = [](Args a) { return row_of(a, Reduction::Kind::min); }};

}  // namespace hone
