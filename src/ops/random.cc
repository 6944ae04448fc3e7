// random_uniform, random_normal and multinomial: an element depends on the seed and its position only (base/philox.h),
// so results depend on neither threads nor runs.
#include <cmath>
#include <numbers>

#include "base/philox.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kUniformAttributes[] = {
    {"shape", AttributeKind::shape, false, "of the result; or operand 0"},
    {"seed", AttributeKind::integer, true, "nodes with the same seed give the same numbers"},
    {"low", AttributeKind::number, false, "default 0"},
    {"high", AttributeKind::number, false, "default 1"},
    {"dtype", AttributeKind::dtype, false, "a float; default f32"},
};
constexpr AttributeSpec kNormalAttributes[] = {
    {"shape", AttributeKind::shape, false, "of the result; or operand 0"},
    {"seed", AttributeKind::integer, true, "nodes with the same seed give the same numbers"},
    {"mean", AttributeKind::number, false, "default 0"},
    {"scale", AttributeKind::number, false, "the standard deviation; default 1"},
    {"dtype", AttributeKind::dtype, false, "a float; default f32"},
};
constexpr AttributeSpec kMultinomialAttributes[] = {
    {"samples", AttributeKind::integer, false, "of each row; default 1"},
    {"seed", AttributeKind::integer, true, "nodes with the same seed draw alike"},
    {"dtype", AttributeKind::dtype, false, "i32 (default) or i64"},
};

std::vector<TensorType> infer_random(const InferArgs& a) {
  const DType dtype = a.attributes.get_or<DType>("dtype", DType::f32);
  if (!is_float(dtype)) fail("dtype is {}; accepted: floats. Insert a cast", to_string(dtype));
  if (const std::optional<Shape> shape = dims_argument(a, 0, "shape")) return {plain_type(dtype, *shape)};
  return {type_of_rank(dtype, vector_length(a[0], "the shape"))};
}

// The numbers of element `position`.
Philox numbers_of(const Attributes& attributes, size_t position) {
  return Philox(static_cast<uint64_t>(attributes.get<int64_t>("seed")), position);
}

template <class Draw>
std::vector<Tensor> fill(const EvalArgs& a, Draw draw) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<double> values(static_cast<size_t>(element_count(sizes)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % kVisitsPerStop == 0) check_stop();
    Philox numbers = numbers_of(a.attributes, i);
    values[i] = draw(numbers);
  }
  return {Tensor::from_doubles(a.results[0].dtype, sizes, values)};
}

std::vector<Tensor> eval_uniform(const EvalArgs& a) {
  const double low = a.attributes.get_or<double>("low", 0), high = a.attributes.get_or<double>("high", 1);
  return fill(a, [&](Philox& numbers) { return low + (high - low) * numbers.uniform(); });
}

std::vector<Tensor> eval_normal(const EvalArgs& a) {
  const double mean = a.attributes.get_or<double>("mean", 0), scale = a.attributes.get_or<double>("scale", 1);
  return fill(a, [&](Philox& numbers) {  // Box and Muller, "A note on the generation of random normal deviates" (1958)
    const double u = 1 - numbers.uniform(), v = numbers.uniform();
    return mean + scale * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  });
}

std::vector<TensorType> infer_multinomial(const InferArgs& a) {
  expect_float(a[0], "the log-probabilities");
  expect_rank(a[0], 2, 2, "the log-probabilities [B,C]");
  if (a[0].shape[1] == Dim(0)) fail("there are no classes to draw from");
  const DType dtype = a.attributes.get_or<DType>("dtype", DType::i32);
  if (dtype != DType::i32 && dtype != DType::i64) fail("dtype is {}; accepted: i32, i64", to_string(dtype));
  const int64_t samples = a.attributes.get_or<int64_t>("samples", 1);
  expect_positive(samples, "samples");
  return {plain_type(dtype, {a[0].shape[0], samples})};
}

// The class at which the running sum of probabilities passes u of their total.
int64_t draw_class(std::span<const double> log_probabilities, double u) {
  check_stop();
  const double most = *std::max_element(log_probabilities.begin(), log_probabilities.end());
  double total = 0, sum = 0;
  for (double p : log_probabilities) total += std::exp(p - most);
  if (!std::isfinite(total)) fail("the log-probabilities of a row hold NaN or infinity, or are all -infinity");
  int64_t last = 0;  // a class with a probability, in case rounding keeps the sum below u
  for (int64_t c = 0; c < std::ssize(log_probabilities); ++c) {
    const double p = std::exp(log_probabilities[static_cast<size_t>(c)] - most);
    if (p > 0) last = c;
    sum += p;
    if (u * total < sum) return c;
  }
  return last;
}

std::vector<Tensor> eval_multinomial(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const std::vector<double> rows = a[0].to_doubles();
  const auto classes = static_cast<size_t>(a[0].dim(1)), samples = static_cast<size_t>(sizes[1]);
  std::vector<int64_t> drawn(static_cast<size_t>(element_count(sizes)));
  for (size_t i = 0; i < drawn.size(); ++i)
    drawn[i] =
        draw_class(std::span(rows).subspan(i / samples * classes, classes), numbers_of(a.attributes, i).uniform());
  return {Tensor::of<int64_t>(sizes, drawn).converted(a.results[0].dtype)};
}

}  // namespace

extern constinit const OpDef random_uniform_def{
    .name = "random_uniform",
    .doc =
        "Independent numbers from low to high; element i is a function of the seed and i. Operand 0 is the shape "
        "where it is computed.",
    .operands = {computed("computed_shape")},
    .attributes = kUniformAttributes,
    .infer = infer_random,
    .eval = eval_uniform,
    .no_gradient = "its numbers follow from a seed alone"};
extern constinit const OpDef random_normal_def{
    .name = "random_normal",
    .doc =
        "Independent normal numbers; element i is a function of the seed and i. Operand 0 is the shape where it is "
        "computed.",
    .operands = {computed("computed_shape")},
    .attributes = kNormalAttributes,
    .infer = infer_random,
    .eval = eval_normal,
    .no_gradient = "its numbers follow from a seed alone"};
extern constinit const OpDef multinomial_def{
    .name = "multinomial",
    .doc =
        "Classes drawn from each row of unnormalised log-probabilities [B,C]: [B,samples], with the row's "
        "probabilities; element i is a function of the row, the seed and i.",
    .attributes = kMultinomialAttributes,
    .infer = infer_multinomial,
    .eval = eval_multinomial,
    .no_gradient = "it draws classes, which change in jumps only"};

}  // namespace hone
