// Distillation: the loss is the formula, parts of a batch are the whole, a student follows its teacher, layers are
// found by their names, and what does not fit is refused.
#include "train/losses/distillation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/calls/attention.h"
#include "ops/calls/linear.h"
#include "ops/calls/transcendental.h"
#include "ops/evaluate.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/loop/trainer.h"
#include "train/registry.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

// x[B,4] → linear "first" → tanh → linear "second": "logits" [B,3].
Graph perceptron(uint64_t seed) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 4}});
  const ValueId h = ops::linear(g, {.x = x, .w = g.add_constant("first.weight", normal_tensor(seed, {8, 4}))});
  g.add_output(ops::linear(g, {.x = ops::tanh(g, {h}),
                               .w = g.add_constant("second.weight", normal_tensor(seed + 1, {3, 8})),
                               .b = g.add_constant("second.bias", normal_tensor(seed + 2, {3}))}),
               "logits");
  return g;
}

TrainGraphOptions options_with(const DistillationOptions& distillation, const std::string& loss = "cross-entropy") {
  TrainGraphOptions options;
  for (const OptimizerDef* def : train::all())
    if (std::string("adam") == def->name) options.optimizer = def, options.optimizer_options = def->options->defaults();
  options.distillation = distillation;
  options.loss.loss = loss;
  return options;
}

NamedTensors lesson(uint64_t seed, int64_t rows, const Graph& teacher) {
  NamedTensors batch{{"x", normal_tensor(seed, {rows, 4})}};
  Graph graph = teacher;
  std::vector<Output> outputs;
  for (const Output& output : graph.outputs())
    outputs.push_back({output.value, output.label == "logits" ? TeacherNames::kPredictions : output.label});
  graph.set_outputs(outputs);
  const std::vector<Tensor> given = evaluate(graph, {{"x", batch.at("x")}});
  for (size_t i = 0; i < outputs.size(); ++i) batch.emplace(outputs[i].label, given[i]);
  batch.emplace("labels", Tensor::of<int64_t>({rows}, std::vector<int64_t>(static_cast<size_t>(rows), 1)));
  return batch;
}

double first_loss(const Graph& student, const TrainGraphOptions& options, const NamedTensors& batch) {
  Trainer trainer(make_train_graphs(student, options), {});
  return trainer.step({&batch, 1}, 1e-3).loss;
}

std::vector<double> log_softmax(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += std::exp(v);
  std::vector<double> y;
  for (double v : x) y.push_back(v - std::log(sum));
  return y;
}

TEST(Distillation, TheLossIsHintonsFormula) {
  constexpr double kT = 3, kWeight = 0.7;
  const Graph student = perceptron(1), teacher = perceptron(11);
  const NamedTensors batch = lesson(5, 2, teacher);
  const std::vector<double> x = evaluate(student, {{"x", batch.at("x")}})[0].to_doubles(),
                            t = batch.at(TeacherNames::kPredictions).to_doubles();
  double labels = 0, divergence = 0;
  for (size_t row = 0; row < 2; ++row) {
    std::vector<double> own, other, cold;
    for (size_t c = 0; c < 3; ++c) {
      own.push_back(x[3 * row + c] / kT), other.push_back(t[3 * row + c] / kT), cold.push_back(x[3 * row + c]);
    }
    const std::vector<double> log_x = log_softmax(own), log_t = log_softmax(other);
    for (size_t c = 0; c < 3; ++c) divergence += std::exp(log_t[c]) * (log_t[c] - log_x[c]) / 2;
    labels -= log_softmax(cold)[1] / 2;
  }
  EXPECT_NEAR(first_loss(student, options_with({.temperature = kT, .weight = kWeight}), batch),
              (1 - kWeight) * labels + kWeight * kT * kT * divergence, 1e-5);
}

TEST(Distillation, LayersAddTheirMeanSquaredDifferences) {
  const std::vector<std::string> layers{"first"};
  const Graph student = with_compared_layers(perceptron(1), layers, "student"),
              teacher = with_compared_layers(perceptron(11), layers, "teacher");
  const NamedTensors batch = lesson(5, 6, teacher);
  const std::vector<double> own = evaluate(student, {{"x", batch.at("x")}})[1].to_doubles(),
                            other = batch.at(TeacherNames::layer(0)).to_doubles();
  double sum = 0;
  for (size_t i = 0; i < own.size(); ++i) sum += (own[i] - other[i]) * (own[i] - other[i]);
  const double mean = sum / static_cast<double>(own.size());
  NamedTensors alone = batch;
  alone.erase(TeacherNames::kPredictions);
  const double with = first_loss(student, options_with({.weight = 0, .layer_weight = 0.3}), alone),
               without = first_loss(student, options_with({.weight = 0, .layer_weight = 0}), alone);
  EXPECT_NEAR(with - without, 0.3 * mean, 1e-4);
}

TEST(Distillation, PartsOfABatchAreTheWhole) {
  const std::vector<std::string> layers{"first"};
  const Graph student = with_compared_layers(perceptron(1), layers, "student"),
              teacher = with_compared_layers(perceptron(11), layers, "teacher");
  TrainGraphOptions options = options_with({});
  const NamedTensors batch = lesson(5, 6, teacher);
  Trainer whole(make_train_graphs(student, options), {});
  options.accumulate = true;
  Trainer parted(make_train_graphs(student, options), {});
  std::vector<NamedTensors> parts(2);
  for (const auto& [name, tensor] : batch) {
    const size_t half = tensor.data().size() / 2;
    std::vector<int64_t> shape = tensor.shape();
    shape[0] /= 2;
    for (size_t i = 0; i < 2; ++i)
      parts[i].emplace(name,
                       Tensor(tensor.dtype(), shape, Buffer::copy_of(tensor.data().bytes().subspan(i * half, half))));
  }
  EXPECT_NEAR(whole.step({&batch, 1}, 1e-2).loss, parted.step(parts, 1e-2).loss, 1e-5);
  const auto a = whole.parameters(), b = parted.parameters();
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<float> x = a[i].second.to_floats(), y = b[i].second.to_floats();
    for (size_t e = 0; e < x.size(); ++e) EXPECT_NEAR(x[e], y[e], 1e-4) << a[i].first;
  }
}

TEST(Distillation, AStudentFollowsItsTeacher) {
  const Graph teacher = perceptron(11);
  for (const char* loss : {"cross-entropy", "bce", "mse"}) {
    const TrainGraphOptions options = options_with({.temperature = 2, .weight = 1}, loss);
    Trainer trainer(make_train_graphs(perceptron(1), options), {});
    double first = 0, last = 0;
    for (uint64_t i = 0; i < 300; ++i) {
      NamedTensors batch = lesson(100 + i, 32, teacher);
      if (std::string("cross-entropy") != loss) batch["labels"] = Tensor(DType::f32, {32, 3});
      last = trainer.step({&batch, 1}, 1e-2).loss;
      if (i == 0) first = last;
    }
    EXPECT_GE(last, -1e-6) << loss;
    EXPECT_LT(last, 0.1 * first) << loss;
  }
}

// x[B,S,8] → attention of two heads.
TEST(Distillation, OfAttentionTheProbabilitiesAreCompared) {
  Graph g;
  const Shape shape{Dim::symbol("B"), Dim::symbol("S"), 8};
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = shape}),
                mask = g.add_input("mask", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 1, 1, Dim::symbol("S")}});
  g.add_output(ops::attention(g, {.q = x, .k = x, .v = x, .mask = mask, .heads = 2}, "attention"), "y");
  const std::vector<std::string> layers{"attention"};
  const Graph compared = with_compared_layers(g, layers, "model");
  verify(compared);
  const Tensor values = normal_tensor(3, {1, 2, 8});
  const std::vector<double> v = values.to_doubles();
  const std::vector<Tensor> y =
      evaluate(compared, {{"x", values}, {"mask", Tensor::of<float>({1, 1, 1, 2}, {0, -0.5f})}});
  ASSERT_EQ(y[1].shape(), (std::vector<int64_t>{1, 2, 2, 2}));
  const std::vector<double> p = y[1].to_doubles();
  for (size_t head = 0; head < 2; ++head)
    for (size_t q = 0; q < 2; ++q) {
      double score[2] = {0, -0.5};
      for (size_t k = 0; k < 2; ++k)
        for (size_t d = 0; d < 4; ++d) score[k] += v[q * 8 + head * 4 + d] * v[k * 8 + head * 4 + d] / 2;
      EXPECT_NEAR(p[(head * 2 + q) * 2], 1 / (1 + std::exp(score[1] - score[0])), 1e-5);
    }
}

TEST(Distillation, RefusesWhatDoesNotFit) {
  const Graph teacher = perceptron(11);
  const NamedTensors batch = lesson(5, 2, teacher);
  for (double t : {0.0, -1.0, std::nan("")})
    EXPECT_THAT(error_of([&] { first_loss(perceptron(1), options_with({.temperature = t}), batch); }),
                HasSubstr("temperature is"));
  EXPECT_THAT(error_of([&] { first_loss(perceptron(1), options_with({.weight = 1.5}), batch); }),
              HasSubstr("distill-weight is 1.5; accepted: 0 to 1"));
  EXPECT_THAT(error_of([&] { first_loss(perceptron(1), options_with({.layer_weight = -1}), batch); }),
              HasSubstr("distill-layer-weight is -1"));
  const std::vector<std::string> wrong{"frist"};
  EXPECT_THAT(error_of([&] { with_compared_layers(perceptron(1), wrong, "student.onnx"); }),
              testing::AllOf(HasSubstr("student.onnx has no layer \"frist\""), HasSubstr("first")));
  for (const char* text : {"first", "=first", "first="})
    EXPECT_THAT(error_of([&] { parse_layer_pair(text); }), HasSubstr("STUDENT=TEACHER"));
}

}  // namespace
}  // namespace hone::test
