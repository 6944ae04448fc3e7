#include "train/losses/loss.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "measure/metric.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/optimizer_steps.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/softmax.h"
#include "ops/calls/transcendental.h"
#include "ops/rules.h"

namespace hone {
namespace {

ValueId number(Graph& g, double value) { return g.add_scalar(static_cast<float>(value)); }
ValueId total(Graph& g, ValueId x) { return ops::reduce_sum(g, {.x = x, .keepdims = 0}); }
ValueId along_rows(Graph& g, ValueId x) {
  return ops::reduce_sum(g, {.x = x, .axes = std::vector<int64_t>{-1}, .keepdims = 0});
}
ValueId as_f32(Graph& g, ValueId x) { return ops::cast(g, {.x = x, .dtype = DType::f32}); }

// The weights of the classes, 1 where there are none.
ValueId weights_of_classes(Graph& g, const Dim& classes, const LossOptions& options) {
  if (options.class_weights.empty()) return number(g, 1);
  const auto count = static_cast<int64_t>(options.class_weights.size());
  if (classes != Dim(count)) fail("there are {} class weights; the model has {} classes", count, classes.to_string());
  for (double weight : options.class_weights)
    if (!(weight >= 0) || !std::isfinite(weight)) fail("a class weight is {}; accepted: 0 and above", weight);
  return g.add_constant("", Tensor::from_doubles(DType::f32, {count}, options.class_weights));
}

// With w the weights of the classes and s the smoothing: (1 - s) w[label] · -log p[label] + s/C · sum_c w[c] · -log
// p[c] for each row with a label, over the sum of w[label].
LossTerms cross_entropy(Graph& g, ValueId x, ValueId labels, const LossOptions& options) {
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) fail("label-smoothing is {}; accepted: 0 to below 1", smoothing);
  const Dim classes = g.type(x).shape.back();
  const ValueId weights = weights_of_classes(g, classes, options), zero = number(g, 0);
  const ValueId log_p = ops::log_softmax(g, {.x = x});
  const ValueId is_label =
      ops::equal(g, {.a = ops::unsqueeze(g, {.x = labels, .axes = std::vector<int64_t>{-1}}),
                     .b = ops::iota(g, {.shape = Shape{1, classes}, .axis = 1, .dtype = DType::i64})});
  const ValueId weighted = options.class_weights.empty() ? log_p : ops::mul(g, {.a = log_p, .b = weights});
  ValueId own = ops::where(g, {.condition = is_label, .a = weighted, .b = zero});
  if (smoothing > 0) {
    const ValueId all = ops::div(g, {.a = weighted, .b = number(g, static_cast<double>(classes.constant()))});
    own = ops::weighted_sum(g, {.a = own, .b = all, .alpha = 1 - smoothing, .beta = smoothing});
  }
  const ValueId counts = ops::not_equal(g, {.a = labels, .b = g.add_scalar<int64_t>(kIgnored)});
  const ValueId rows = ops::where(g, {.condition = counts, .a = along_rows(g, own), .b = zero});
  const ValueId share = options.class_weights.empty()
                            ? as_f32(g, counts)
                            : along_rows(g, ops::where(g, {.condition = is_label, .a = weights, .b = zero}));
  return {.sum = ops::neg(g, {total(g, rows)}), .count = total(g, share)};
}

void refuse_class_options(const char* loss, const LossOptions& options) {
  if (options.label_smoothing != 0) fail("label-smoothing is of cross-entropy; the loss is {}", loss);
  if (!options.class_weights.empty()) fail("class weights are of cross-entropy; the loss is {}", loss);
}

// Sums of term(label) where the label is a number, over how many there are.
template <class Term>
LossTerms over_known(Graph& g, ValueId labels, Term term) {
  const ValueId unknown = ops::is_nan(g, {labels}), zero = number(g, 0);
  const ValueId known = ops::where(g, {.condition = unknown, .a = zero, .b = labels});
  const ValueId terms = ops::where(g, {.condition = unknown, .a = zero, .b = term(known)});
  return {.sum = total(g, terms), .count = total(g, as_f32(g, ops::logical_not(g, {unknown})))};
}

LossTerms mse(Graph& g, ValueId x, ValueId labels, const LossOptions& options) {
  refuse_class_options("mse", options);
  return over_known(g, labels, [&](ValueId label) {
    const ValueId difference = ops::sub(g, {.a = x, .b = label});
    return ops::mul(g, {.a = difference, .b = difference});
  });
}

// -label · log sigmoid(x) - (1 - label) · log sigmoid(-x) = softplus(x) - x · label.
LossTerms bce(Graph& g, ValueId x, ValueId labels, const LossOptions& options) {
  refuse_class_options("bce", options);
  return over_known(g, labels, [&](ValueId label) {
    return ops::sub(g, {.a = ops::softplus(g, {x}), .b = ops::mul(g, {.a = x, .b = label})});
  });
}

// sum_c label[c] · (log label[c] - log p[c]) of each row, over the number of rows: torch's "batchmean".
LossTerms kl(Graph& g, ValueId x, ValueId labels, const LossOptions& options) {
  refuse_class_options("kl", options);
  const ValueId zero = number(g, 0);
  const ValueId difference = ops::sub(g, {.a = ops::log(g, {labels}), .b = ops::log_softmax(g, {.x = x})});
  const ValueId terms = ops::mul(g, {.a = labels, .b = difference});
  const ValueId some = ops::greater(g, {.a = labels, .b = zero});
  const ValueId rows = along_rows(g, ops::where(g, {.condition = some, .a = terms, .b = zero}));
  const ValueId ones = ops::full(g, {.shape = g.type(rows).shape, .value = 1.0, .dtype = DType::f32});
  return {.sum = total(g, rows), .count = total(g, ones)};
}

constexpr LossDef kLosses[] = {
    {"cross-entropy", "of one class per row, or per word", true, cross_entropy},
    {"bce", "binary cross-entropy with logits: each class is there or not", false, bce},
    {"mse", "mean squared error of numbers", false, mse},
    {"kl", "divergence from probabilities that the data give", false, kl},
};

}  // namespace

std::span<const LossDef> losses() { return kLosses; }

const LossDef& find_loss(const std::string& name) {
  std::vector<std::string> names;
  for (const LossDef& def : kLosses) {
    if (name == def.name) return def;
    names.emplace_back(def.name);
  }
  fail("unknown loss {}; known: {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
}

LossTerms add_loss(Graph& graph, ValueId predictions, const std::string& labels, const LossOptions& options) {
  const LossDef& def = find_loss(options.loss);
  const TensorType type = graph.type(predictions);
  if (type.rank() < 2 || !is_float(type.dtype))
    fail("a loss needs predictions [rows, ..., classes] of floats; the model gives {}", to_string(type));
  if (!type.shape.back().is_constant())
    fail("a loss needs a fixed number of classes; the model gives {}", to_string(type));
  Shape shape = type.shape;
  if (def.classes) shape.pop_back();
  ValueId given = graph.add_input(labels, plain_type(def.classes ? DType::i64 : DType::f32, shape));
  ValueId x = type.dtype == DType::f32 ? predictions : as_f32(graph, predictions);
  if (type.rank() > 2) {  // one row for each word
    const Dim rows = element_count(Shape(type.shape.begin(), type.shape.end() - 1));
    x = ops::reshape(graph, {.x = x, .shape = Shape{rows, type.shape.back()}});
    given = ops::reshape(graph, {.x = given, .shape = def.classes ? Shape{rows} : Shape{rows, type.shape.back()}});
  }
  return def.terms(graph, x, given, options);
}

}  // namespace hone
