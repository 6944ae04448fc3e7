// Losses, and the optimisers of ai.onnx.preview.training as the formulas of their documentation.
#include "io/onnx/formula.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/nll_loss.h"
#include "ops/calls/softmax.h"

namespace hone {
namespace {

using onnx::Formula;

constexpr const char* kTraining = "ai.onnx.preview.training";

ValueId loss_of(OnnxNode& n, ValueId log_likelihoods) {
  Attributes attributes{{"reduction", n.text("reduction", "mean")}};
  if (n.has_attribute("ignore_index")) attributes.set("ignore_index", n.integer("ignore_index"));
  return n.emit({&nll_loss_def, {log_likelihoods, n.in(1), n.in_or_none(2)}, attributes});
}

std::vector<ValueId> import_nll_loss(OnnxNode& n) { return {loss_of(n, n.in(0))}; }

std::vector<ValueId> import_cross_entropy(OnnxNode& n) {
  const ValueId log_likelihoods = ops::log_softmax(n, {.x = n.in(0), .axis = 1});
  return {loss_of(n, log_likelihoods), log_likelihoods};
}

// Inputs: rate and number of the update, then `kinds` lists of `count` tensors each: parameters, gradients, states.
class Update {
 public:
  Update(OnnxNode& n, int kinds) : n_(n), count_((n.inputs() - 2) / kinds) {
    if (n.inputs() != 2 + kinds * count_)
      fail("has {} inputs; expected 2 and then {} for each parameter", n.inputs(), kinds);
  }
  int count() const { return count_; }
  Formula rate() const { return {n_, n_.in(0)}; }
  Formula step(DType dtype) const { return {n_, n_.cast(n_.in(1), dtype)}; }
  Formula input(int kind, int i) const { return {n_, n_.in(2 + kind * count_ + i)}; }
  // gradient + norm_coefficient * parameter
  Formula regularised_gradient(int i) const { return n_.number("norm_coefficient", 0.0) * input(0, i) + input(1, i); }

 private:
  OnnxNode& n_;
  int count_;
};

// Results of all parameters, then those of all states of the first kind, ...
std::vector<ValueId> by_kind(const std::vector<std::vector<ValueId>>& of_parameters) {
  std::vector<ValueId> results;
  for (size_t kind = 0; !of_parameters.empty() && kind < of_parameters[0].size(); ++kind)
    for (const std::vector<ValueId>& values : of_parameters) results.push_back(values[kind]);
  return results;
}

std::vector<ValueId> import_adagrad(OnnxNode& n) {
  const Update update(n, 3);
  const double decay = n.number("decay_factor", 0.0), epsilon = n.number("epsilon", 1e-6);
  const Formula rate = update.rate() / (update.step(update.rate().dtype()) * decay + 1);
  std::vector<std::vector<ValueId>> results;
  for (int i = 0; i < update.count(); ++i) {
    const Formula gradient = update.regularised_gradient(i), squares = update.input(2, i) + square(gradient);
    results.push_back({update.input(0, i) - rate * gradient / (sqrt(squares) + epsilon), squares});
  }
  return by_kind(results);
}

// `otherwise` where the step is 0, since then nothing is to be corrected.
Formula unless_first(OnnxNode& n, const Update& update, Formula value, Formula otherwise) {
  const Formula later = update.step(DType::i64).apply(greater_def, n.scalar(0, DType::i64));
  return {n, ops::where(n, {.condition = later, .a = value, .b = otherwise})};
}

// base to the power of the step
Formula decayed(OnnxNode& n, const Update& update, double base) {
  const DType dtype = update.rate().dtype();
  return Formula(n, n.scalar(base, dtype)).apply(pow_def, update.step(dtype));
}

std::vector<ValueId> import_adam(OnnxNode& n) {
  const Update update(n, 4);
  const double alpha = n.number("alpha", 0.9), beta = n.number("beta", 0.999), epsilon = n.number("epsilon", 1e-6);
  const Formula corrected = update.rate() * sqrt(1 - decayed(n, update, beta)) / (1 - decayed(n, update, alpha));
  const Formula rate = unless_first(n, update, corrected, update.rate());
  std::vector<std::vector<ValueId>> results;
  for (int i = 0; i < update.count(); ++i) {
    const Formula gradient = update.regularised_gradient(i);
    const Formula mean = alpha * update.input(2, i) + (1 - alpha) * gradient,
                  squares = beta * update.input(3, i) + (1 - beta) * square(gradient);
    const Formula updated = update.input(0, i) - rate * mean / (sqrt(squares) + epsilon);
    results.push_back({(1 - n.number("norm_coefficient_post", 0.0)) * updated, mean, squares});
  }
  return by_kind(results);
}

std::vector<ValueId> import_momentum(OnnxNode& n) {
  const Update update(n, 3);
  const double alpha = n.number("alpha"), beta = n.number("beta");
  const std::string mode = n.text("mode");
  if (mode != "standard" && mode != "nesterov") fail("mode is \"{}\"; accepted: standard, nesterov", mode);
  const Formula rate = update.rate(), share = unless_first(n, update, rate.number(beta), rate.number(1));
  std::vector<std::vector<ValueId>> results;
  for (int i = 0; i < update.count(); ++i) {
    const Formula gradient = update.regularised_gradient(i), momentum = alpha * update.input(2, i) + share * gradient;
    const Formula step = mode == "nesterov" ? gradient + alpha * momentum : momentum;
    results.push_back({update.input(0, i) - rate * step, momentum});
  }
  return by_kind(results);
}

constexpr OnnxOperator kOperators[] = {
    {"Adagrad", 1, import_adagrad, kTraining},
    {"Adam", 1, import_adam, kTraining},
    {"Momentum", 1, import_momentum, kTraining},
    {"NegativeLogLikelihoodLoss", 12, import_nll_loss},
    {"SoftmaxCrossEntropyLoss", 12, import_cross_entropy},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_losses_def{.name = "losses", .operators = kOperators};

}  // namespace hone
