#include "io/onnx/rare/post_transform.h"

#include <cmath>
#include <numbers>

#include "io/onnx/formula.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/gather.h"
#include "ops/calls/reduce.h"
#include "ops/calls/softmax.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

using onnx::Formula;

struct Name {
  std::string_view text;
  PostTransform post;
};
constexpr Name kNames[] = {{"NONE", PostTransform::none},
                           {"SOFTMAX", PostTransform::softmax},
                           {"LOGISTIC", PostTransform::logistic},
                           {"SOFTMAX_ZERO", PostTransform::softmax_zero},
                           {"PROBIT", PostTransform::probit}};

// The softmax in which scores that are 0 (to 1e-7) count as score * exp(-most); a row of nothing gives 0.5.
ValueId softmax_zero(OnnxNode& n, Formula x) {
  const Attributes along{{"axes", std::vector<int64_t>{1}}};
  const Formula most = x.apply(reduce_max_def, along);
  const ValueId counts = ops::greater(n, {x.apply(abs_def), x.number(1e-7)});
  const Formula powers(
      n, ops::where(n, {.condition = counts, .a = (x - most).apply(exp_def), .b = x * (0 - most).apply(exp_def)}));
  const Formula sum = powers.apply(reduce_sum_def, along);
  return ops::where(n, {.condition = ops::equal(n, {sum, sum.number(0)}), .a = sum.number(0.5), .b = powers / sum});
}

// sqrt 2 * erfinv(2 x - 1), with Winitzki's approximation of erfinv (2008; a = 0.147), as the standard computes it.
ValueId probit(OnnxNode& n, Formula x) {
  constexpr double a = 0.147, sqrt_2 = 1.41421356;
  const Formula y = x * 2 + -1.0, log = ((1 - y) * (y + 1)).apply(log_def);
  const Formula half = log * 0.5 + 2 / (std::numbers::pi * a);
  const Formula root = sqrt(sqrt(half * half - log * (1 / a)) - half);
  const Formula size(n, ops::where(n, {.condition = ops::equal(n, {y, y.number(0)}), .a = y.number(0), .b = root}));
  return ops::where(n, {.condition = ops::less(n, {y, y.number(0)}), .a = size * -sqrt_2, .b = size * sqrt_2});
}

}  // namespace

PostTransform post_transform_of(const OnnxNode& n) {
  const std::string text = n.text("post_transform", "NONE");
  for (const Name& name : kNames)
    if (name.text == text) return name.post;
  fail("post_transform is \"{}\"; accepted: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT", text);
}

ValueId transformed(const OnnxNode& node, PostTransform post, ValueId scores) {
  OnnxNode n = node;
  switch (post) {
    case PostTransform::none:
      return scores;
    case PostTransform::softmax:
      return ops::softmax(n, {.x = scores, .axis = 1});
    case PostTransform::logistic:
      return ops::sigmoid(n, {scores});
    case PostTransform::softmax_zero:
      return softmax_zero(n, {n, scores});
    case PostTransform::probit:
      return probit(n, {n, scores});
  }
  return scores;
}

Tensor class_labels(const OnnxNode& n, const char* integers, const char* strings) {
  std::vector<std::string> texts = n.texts(strings, std::vector<std::string>());
  const std::vector<int64_t> numbers = n.integers(integers, std::vector<int64_t>());
  if (texts.empty() == numbers.empty())
    fail("labels are in {} or in {}; exactly one of them is given", integers, strings);
  const auto count = static_cast<int64_t>(texts.size());
  return texts.empty() ? Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers)
                       : Tensor::strings({count}, std::move(texts));
}

ValueId labels_at(const OnnxNode& n, const Tensor& labels, ValueId indices) {
  return ops::gather(n, {.table = n.constant(labels), .indices = indices, .axis = 0});
}

}  // namespace hone
