// Whole steps: small models learn, parts of a batch are as the whole, groups do what they say, and a run is the same
// bits with any number of threads and after its tensors were put back.
#include "train/loop/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/comparison.h"
#include "ops/calls/conv.h"
#include "ops/calls/dropout_train.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transcendental.h"
#include "passes/compress/lora.h"
#include "tests/support/bound.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/registry.h"

namespace hone::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x[B,inputs] → tanh(linear) → linear: "logits" [B,classes].
Graph perceptron(int64_t inputs, int64_t hidden, int64_t classes) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), inputs}});
  const ValueId h =
      ops::tanh(g, {ops::linear(g, {.x = x,
                                    .w = g.add_constant("first.weight", normal_tensor(1, {hidden, inputs})),
                                    .b = g.add_constant("first.bias", normal_tensor(2, {hidden}, 0.1f))})});
  g.add_output(ops::linear(g, {.x = h,
                               .w = g.add_constant("second.weight", normal_tensor(3, {classes, hidden}, 0.3f)),
                               .b = g.add_constant("second.bias", normal_tensor(4, {classes}, 0.1f))}),
               "logits");
  return g;
}

TrainGraphOptions options_with(const std::string& optimizer) {
  TrainGraphOptions options;
  for (const OptimizerDef* def : train::all())
    if (optimizer == def->name) options.optimizer = def, options.optimizer_options = def->options->defaults();
  return options;
}

NamedTensors xor_batch() {
  return {{"x", Tensor::of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
          {"labels", Tensor::of<int64_t>({4}, {0, 1, 1, 0})}};
}

NamedTensors random_batch(uint64_t seed, int64_t rows, int64_t inputs, int64_t classes) {
  Philox random(seed);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < rows; ++i) labels.push_back(random.below(static_cast<uint32_t>(classes)));
  return {{"x", normal_tensor(seed + 100, {rows, inputs})}, {"labels", Tensor::of<int64_t>({rows}, labels)}};
}

Trainer::Step step(Trainer& trainer, const NamedTensors& batch, double rate, bool checked = false) {
  return trainer.step(std::span(&batch, 1), rate, checked);
}

TEST(Trainer, APerceptronLearnsExclusiveOrWithEveryOptimizer) {
  for (const OptimizerDef* def : train::all()) {
    SCOPED_TRACE(def->name);
    Trainer trainer(make_train_graphs(perceptron(2, 16, 2), options_with(def->name)), {});
    const bool is_sgd = std::string(def->name) == "sgd";
    double loss = 0;
    for (int i = 0; i < 400; ++i) loss = step(trainer, xor_batch(), is_sgd ? 0.5 : 0.02).loss;
    EXPECT_LT(loss, 0.1);
    const Trainer::Evaluation evaluation = trainer.evaluate(xor_batch());
    EXPECT_EQ(evaluation.count, 4);
    const std::vector<double> logits = evaluation.predictions.to_doubles();
    for (size_t row = 0; row < 4; ++row)
      EXPECT_EQ(logits[2 * row + 1] > logits[2 * row], row == 1 || row == 2) << "row " << row;
  }
}

TEST(Trainer, TheLossOfAStepIsThatBeforeItsUpdate) {
  Trainer trainer(make_train_graphs(perceptron(2, 4, 2), options_with("sgd")), {});
  const Trainer::Evaluation before = trainer.evaluate(xor_batch());
  const Trainer::Step one = step(trainer, xor_batch(), 0.1);
  EXPECT_NEAR(one.loss, before.loss_sum / before.count, 8 * kEpsF32);
  EXPECT_EQ(one.predictions.size(), 1u);
  const Trainer::Evaluation after = trainer.evaluate(xor_batch());
  EXPECT_LT(after.loss_sum, before.loss_sum);
  EXPECT_EQ(trainer.steps(), 1);
}

// d loss / d w of one weight by central differences in f32 against the change that a step of SGD makes.
TEST(Trainer, AStepOfSgdGoesAlongTheGradient) {
  Graph model = perceptron(2, 4, 2);
  Trainer trainer(make_train_graphs(model, options_with("sgd")), {});
  step(trainer, xor_batch(), 1);
  for (const auto& [name, after] : trainer.parameters()) {
    const Tensor before = *model.constant(model.find_constant(name));
    for (int64_t i = 0; i < before.elements(); ++i) {
      const auto loss_at = [&](float offset) {
        Graph moved = model;
        Tensor w = before;
        w.mutable_as<float>()[static_cast<size_t>(i)] += offset;
        moved.set_constant(moved.find_constant(name), w);
        Trainer other(make_train_graphs(moved, options_with("sgd")), {});
        const Trainer::Evaluation evaluation = other.evaluate(xor_batch());
        return evaluation.loss_sum / evaluation.count;
      };
      if (i > 1) break;  // each takes a compilation
      constexpr float kOffset = 0x1p-6f;
      const double slope = (loss_at(kOffset) - loss_at(-kOffset)) / (2 * kOffset);
      const double change = after.to_doubles()[static_cast<size_t>(i)] - before.to_doubles()[static_cast<size_t>(i)];
      // Truncation: third derivatives of this loss stay below 4, so 4 offset² / 6; rounding: 16 eps / offset.
      EXPECT_NEAR(-change, slope, 4 * kOffset * kOffset / 6 + 16 * kEpsF32 / kOffset) << name << " " << i;
    }
  }
}

std::vector<double> all_values(const Trainer& trainer) {
  std::vector<double> all;
  for (const auto& [name, tensor] : trainer.tensors())
    if (name.starts_with("parameter/"))
      for (double v : tensor.to_doubles()) all.push_back(v);
  return all;
}

NamedTensors rows_of(const NamedTensors& batch, int64_t begin, int64_t end) {
  const std::vector<float> x = batch.at("x").to_floats();
  const std::vector<int64_t> labels = batch.at("labels").to_integers();
  const int64_t width = batch.at("x").dim(1);
  return {{"x", Tensor::of<float>({end - begin, width}, {x.begin() + begin * width, x.begin() + end * width})},
          {"labels", Tensor::of<int64_t>({end - begin}, {labels.begin() + begin, labels.begin() + end})}};
}

TEST(Trainer, ABatchInPartsMakesTheSameStep) {
  TrainGraphOptions whole = options_with("sgd"), parts = whole;
  whole.clip_norm = parts.clip_norm = 0.05;
  parts.accumulate = true;
  Trainer one(make_train_graphs(perceptron(8, 16, 4), whole), {}),
      some(make_train_graphs(perceptron(8, 16, 4), parts), {});
  NamedTensors batch = random_batch(5, 24, 8, 4);
  batch["labels"].mutable_as<int64_t>()[3] = -100;  // parts of unlike counts
  const std::vector<double> before = all_values(one);
  const Trainer::Step at_once = step(one, batch, 0.5);
  const std::vector<NamedTensors> split = {rows_of(batch, 0, 8), rows_of(batch, 8, 16), rows_of(batch, 16, 24)};
  const Trainer::Step in_parts = some.step(split, 0.5);
  EXPECT_EQ(in_parts.predictions.size(), 3u);
  // Sums of 23 terms below 4, each of about 30 roundings, in another order.
  EXPECT_NEAR(in_parts.loss, at_once.loss, 2 * 53 * kEpsF32 * 4);
  EXPECT_NEAR(*in_parts.norm, *at_once.norm, 2 * 100 * kEpsF32 * *at_once.norm * 23);
  const std::vector<double> a = all_values(one), b = all_values(some);
  double moved = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    // The clipped step is at most rate · clip_norm long; its parts are sums over 23 rows with 100 roundings in all.
    const double bound = 2 * kEpsF32 * std::abs(a[i]) + 2 * 123 * kEpsF32 * 0.5 * 0.05;
    EXPECT_NEAR(a[i], b[i], bound);
    moved = std::max(moved, std::abs(a[i] - before[i]) / bound);
  }
  EXPECT_GT(moved, 100);
}

TEST(Trainer, TheNextBatchInPartsForgetsTheSumsOfTheLast) {
  TrainGraphOptions options = options_with("sgd");
  options.accumulate = true;
  const std::vector<NamedTensors> first = {random_batch(1, 4, 8, 4), random_batch(2, 4, 8, 4)},
                                  second = {random_batch(3, 4, 8, 4)};
  Trainer trainer(make_train_graphs(perceptron(8, 16, 4), options), {});
  trainer.step(first, 0.1);
  const Trainer::Evaluation before = trainer.evaluate(second[0]);
  EXPECT_NEAR(trainer.step(second, 0.1).loss, before.loss_sum / before.count, 16 * kEpsF32 * 4);
}

TEST(Trainer, AnyNumberOfThreadsGivesTheSameBits) {
  const auto trained = [](int threads) {
    SessionOptions session;
    session.threads = threads;
    TrainGraphOptions options = options_with("adamw");
    options.clip_norm = 1;
    Trainer trainer(make_train_graphs(perceptron(64, 256, 10), options), session);
    for (uint64_t i = 0; i < 5; ++i) step(trainer, random_batch(i, 128, 64, 10), 0.01);
    return trainer.tensors();
  };
  const std::map<std::string, Tensor> one = trained(1);
  EXPECT_GT(one.size(), 4u);
  for (int threads : {2, 4})
    for (const auto& [name, tensor] : trained(threads)) EXPECT_TRUE(tensor.same_bits(one.at(name))) << name;
}

TEST(Trainer, GoesOnFromItsTensorsWithTheSameBits) {
  const TrainGraphs graphs = make_train_graphs(perceptron(8, 16, 4), options_with("adamw"));
  Trainer whole(graphs, {}), first(graphs, {}), second(graphs, {});
  for (uint64_t i = 0; i < 6; ++i) step(whole, random_batch(i, 8, 8, 4), 0.01);
  for (uint64_t i = 0; i < 3; ++i) step(first, random_batch(i, 8, 8, 4), 0.01);
  second.restore(first.tensors(), first.steps(), "checkpoint");
  for (uint64_t i = 3; i < 6; ++i) step(second, random_batch(i, 8, 8, 4), 0.01);
  for (const auto& [name, tensor] : whole.tensors()) EXPECT_TRUE(tensor.same_bits(second.tensors().at(name))) << name;
}

TEST(Trainer, RefusesTensorsOfAnotherModelOrOptimizer) {
  Trainer trainer(make_train_graphs(perceptron(8, 16, 4), options_with("adamw")), {});
  Trainer lion(make_train_graphs(perceptron(8, 16, 4), options_with("lion")), {});
  Trainer other(make_train_graphs(perceptron(8, 12, 4), options_with("adamw")), {});
  EXPECT_THAT(error_of([&] { trainer.restore(lion.tensors(), 1, "c"); }), HasSubstr("c: lacks \"state/"));
  EXPECT_THAT(error_of([&] { lion.restore(trainer.tensors(), 1, "c"); }),
              HasSubstr("c: holds 12 tensors; the model and its optimizer have 8"));
  EXPECT_THAT(error_of([&] { trainer.restore(other.tensors(), 1, "c"); }), HasSubstr("the model has"));
}

TEST(Trainer, GroupsFreezeAndScaleAndDecay) {
  TrainGraphOptions options = options_with("sgd");
  options.groups = {.rules = {"first\\.bias=frozen", "first=rate:0.5", "second.weight=decay:0.5"}, .decay = 0};
  const TrainGraphs graphs = make_train_graphs(perceptron(2, 4, 2), options);
  EXPECT_EQ(graphs.frozen, std::vector<std::string>{"first.bias"});
  ASSERT_EQ(graphs.parameters.size(), 3u);
  Trainer some(graphs, {}), all(make_train_graphs(perceptron(2, 4, 2), options_with("sgd")), {});
  step(some, xor_batch(), 0.5);
  step(all, xor_batch(), 0.5);
  const Graph model = perceptron(2, 4, 2);
  for (const auto& [name, after] : some.parameters()) {
    const Tensor& before = *model.constant(model.find_constant(name));
    const Tensor full = all.tensors().at("parameter/" + name);
    for (size_t i = 0; i < after.to_doubles().size(); ++i) {
      const double w = before.to_doubles()[i], d = full.to_doubles()[i] - w;
      const double expected = w + (name == "first.weight" ? d / 2 : d) - (name == "second.weight" ? 0.5 * 0.5 * w : 0);
      EXPECT_NEAR(after.to_doubles()[i], expected, 4 * kEpsF32 * (std::abs(w) + std::abs(d))) << name;
    }
  }
}

// Rows of a table [size,4] → linear: "logits" [B,2].
Graph reads_table(int64_t size = 6) {
  Graph g;
  const ValueId rows = g.add_input("rows", {.dtype = DType::i64, .shape = {Dim::symbol("B")}});
  const ValueId table = g.add_constant("table", normal_tensor(1, {size, 4}));
  const ValueId x = ops::gather(g, {.table = table, .indices = rows});
  g.add_output(ops::linear(g, {.x = x, .w = g.add_constant("last", normal_tensor(2, {2, 4}))}), "logits");
  return g;
}

TEST(Trainer, LazyTablesKeepRowsThatAStepDoesNotRead) {
  const auto batch_of = [](std::vector<int64_t> rows) {
    const auto count = static_cast<int64_t>(rows.size());
    return NamedTensors{{"rows", Tensor::of<int64_t>({count}, rows)},
                        {"labels", Tensor::of<int64_t>({count}, std::vector<int64_t>(rows.size(), 1))}};
  };
  for (const OptimizerDef* def : train::all()) {
    SCOPED_TRACE(def->name);
    TrainGraphOptions options = options_with(def->name);
    options.groups.decay = 0.1;
    Trainer dense(make_train_graphs(reads_table(), options), {});
    options.groups.rules = {"table=lazy"};
    Trainer lazy(make_train_graphs(reads_table(), options), {});
    const auto row = [](Trainer& trainer, const std::string& name, size_t i) {
      const std::vector<double> all = trainer.tensors().at(name).to_doubles();
      return std::vector<double>(all.begin() + static_cast<ptrdiff_t>(4 * i),
                                 all.begin() + static_cast<ptrdiff_t>(4 * i + 4));
    };
    const Tensor start = normal_tensor(1, {6, 4});
    for (Trainer* trainer : {&dense, &lazy}) step(*trainer, batch_of({0, 1, 1}), 0.1);
    const std::vector<double> read_once = row(lazy, "parameter/table", 0);
    for (size_t i : {0u, 1u}) EXPECT_EQ(row(lazy, "parameter/table", i), row(dense, "parameter/table", i));
    for (Trainer* trainer : {&dense, &lazy}) step(*trainer, batch_of({1, 2}), 0.1);
    EXPECT_EQ(row(lazy, "parameter/table", 0), read_once);
    EXPECT_NE(row(dense, "parameter/table", 0), read_once) << "decays, at least";
    for (size_t i : {3u, 4u, 5u})
      for (size_t c = 0; c < 4; ++c) EXPECT_EQ(row(lazy, "parameter/table", i)[c], start.to_doubles()[4 * i + c]);
    for (const auto& [name, tensor] : lazy.tensors()) {
      const bool like_table = name.starts_with("state/table") && tensor.shape() == std::vector<int64_t>{6, 4};
      if (like_table) {
        EXPECT_EQ(row(lazy, name, 5), std::vector<double>(4, 0)) << name;
      }
    }
  }
}

TEST(Trainer, BiasesDoNotDecayUnlessAsked) {
  TrainGraphOptions options = options_with("adamw");
  options.groups.decay = 0.1;
  for (const TrainedParameter& p : make_train_graphs(perceptron(2, 4, 2), options).parameters)
    EXPECT_EQ(p.decay, p.name.ends_with("bias") ? 0 : 0.1) << p.name;
  options.groups.decay_all = true;
  for (const TrainedParameter& p : make_train_graphs(perceptron(2, 4, 2), options).parameters)
    EXPECT_EQ(p.decay, 0.1) << p.name;
}

TEST(Trainer, RefusesRulesThatAreNoneOrMatchNothing) {
  const auto refused = [](const std::vector<std::string>& rules) {
    return error_of([&] {
      TrainGraphOptions options = options_with("sgd");
      options.groups.rules = rules;
      make_train_graphs(perceptron(2, 4, 2), options);
    });
  };
  EXPECT_THAT(refused({"first"}), HasSubstr("rule \"first\": expected NAMES=HOW"));
  EXPECT_THAT(refused({"first=slow"}),
              HasSubstr("\"slow\" is neither frozen nor trained nor lazy nor rate:FACTOR nor decay:NUMBER"));
  EXPECT_THAT(refused({"first=lazy"}), HasSubstr("is no table of which steps read some rows"));
  EXPECT_THAT(refused({"first=rate:x"}), HasSubstr("\"x\" is no number of 0 or above"));
  EXPECT_THAT(refused({"third=frozen"}), HasSubstr("rule \"third=frozen\": no name of a weight matches"));
  EXPECT_THAT(refused({"op:conv=frozen"}), HasSubstr("no conv reads a weight; what does: linear"));
  EXPECT_THAT(refused({".*=frozen"}), HasSubstr("nothing is left to train: the rules freeze all 4 weights"));
}

TEST(Trainer, AModelWithoutWeightsIsRefused) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2}});
  g.add_output(ops::tanh(g, {x}), "logits");
  EXPECT_THAT(error_of([&] { make_train_graphs(g, options_with("sgd")); }),
              HasSubstr("the model has no weights that can be trained"));
}

TEST(Trainer, AStepThatComputesNanIsNamedAndChangesNothing) {
  Trainer trainer(make_train_graphs(perceptron(2, 4, 2), options_with("adamw")), {});
  NamedTensors batch = xor_batch();
  step(trainer, batch, 0.01);
  const std::map<std::string, Tensor> before = trainer.tensors();
  batch["x"] = Tensor::of<float>({4, 2}, {0, 0, 0, 1, NAN, 0, 1, 1});
  EXPECT_THAT(error_of([&] { step(trainer, batch, 0.01, true); }), HasSubstr("NaN"));
  EXPECT_EQ(trainer.steps(), 1);
  for (const auto& [name, tensor] : trainer.tensors()) EXPECT_TRUE(tensor.same_bits(before.at(name))) << name;
}

// Both kinds of normalisation in one image network: [N,1,4,4] → conv → batch norm → relu → mean → linear.
Graph normed_network() {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 1, 4, 4}});
  const ValueId c = ops::conv(g, {.x = x,
                                  .w = g.add_constant("conv.weight", normal_tensor(1, {6, 1, 3, 3}, 0.5f)),
                                  .pads = std::vector<int64_t>{1, 1, 1, 1}});
  const ValueId n =
      ops::batch_norm(g, {.x = c,
                          .scale = g.add_constant("norm.weight", normal_tensor(2, {6})),
                          .bias = g.add_constant("norm.bias", normal_tensor(3, {6})),
                          .mean = g.add_constant("norm.running_mean", Tensor(DType::f32, {6})),
                          .variance = g.add_constant("norm.running_var", Tensor::of<float>({6}, {1, 1, 1, 1, 1, 1}))});
  const ValueId pooled =
      ops::reduce_mean(g, {.x = ops::relu(g, {n}), .axes = std::vector<int64_t>{2, 3}, .keepdims = 0});
  g.add_output(ops::linear(g, {.x = pooled,
                               .w = g.add_constant("fc.weight", normal_tensor(5, {2, 6}, 0.3f)),
                               .b = g.add_constant("fc.bias", Tensor(DType::f32, {2}))}),
               "logits");
  return g;
}

NamedTensors images(uint64_t seed, int64_t rows) {
  NamedTensors batch{{"x", normal_tensor(seed, {rows, 1, 4, 4})}};
  std::vector<int64_t> labels;
  const std::vector<float> x = batch["x"].to_floats();
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < 8; ++j) sum += x[static_cast<size_t>(i * 16 + j)];
    labels.push_back(sum > 0);
  }
  batch["labels"] = Tensor::of<int64_t>({rows}, labels);
  return batch;
}

TEST(Trainer, BatchNormsGoByTheBatchInTrainingAndByWhatTheySawAfterwards) {
  const TrainGraphs graphs = make_train_graphs(canonicalise_for_training(normed_network()), options_with("adamw"));
  EXPECT_EQ(graphs.statistics, (std::vector<std::string>{"norm.running_mean", "norm.running_var"}));
  EXPECT_EQ(graphs.parameters.size(), 5u);
  Trainer trainer(graphs, {});
  const double first = step(trainer, images(1, 32), 0.01).loss;
  double last = 0;
  for (uint64_t i = 2; i < 60; ++i) last = step(trainer, images(i, 32), 0.01).loss;
  EXPECT_LT(last, first);
  // Running means follow by a tenth each step, so after 59 they are those of the batches, which differ little.
  const Trainer::Evaluation evaluation = trainer.evaluate(images(99, 256));
  EXPECT_NEAR(evaluation.loss_sum / evaluation.count, last, 0.5 * last);
  EXPECT_NE(trainer.tensors().at("parameter/norm.running_mean").to_doubles()[0], 0);
}

// x[B,S,8] → attention and a layer behind it → of the first place: "logits" [B,2]. Read as a slice, or as a sum of all
// places of which the others are times zero.
Graph reads_first_place(bool as_slice) {
  Graph g;
  const Dim places = Dim::symbol("S");
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), places, 8}});
  const auto layer = [&](ValueId v, const char* name, uint64_t seed, int64_t width = 8) {
    return ops::linear(
        g, {.x = v, .w = g.add_constant(std::string(name) + ".weight", normal_tensor(seed, {width, 8}, 0.3f))});
  };
  const ValueId a =
      ops::attention(g, {.q = layer(x, "q", 1), .k = layer(x, "k", 2), .v = layer(x, "v", 3), .heads = 2});
  const ValueId y = ops::add(g, {ops::tanh(g, {layer(ops::add(g, {a, x}), "inner", 4)}), x});
  ValueId first = kNone;
  if (as_slice) {
    first = ops::slice(g, {.x = y, .starts = Shape{0}, .ends = Shape{1}, .axes = std::vector<int64_t>{1}});
  } else {
    const ValueId at = ops::iota(g, {.shape = Shape{places, 1}});
    const ValueId zero = g.add_scalar(0.0f);
    const ValueId is_first = ops::equal(g, {at, g.add_scalar<int64_t>(0)});
    first =
        ops::reduce_sum(g, {.x = ops::where(g, {is_first, y, zero}), .axes = std::vector<int64_t>{1}, .keepdims = 1});
  }
  const ValueId flat = ops::reshape(g, {.x = first, .shape = Shape{Dim::symbol("B"), 8}});
  g.add_output(layer(flat, "last", 5, 2), "logits");
  return g;
}

TEST(Trainer, WhatIsReadOfOnePlaceIsComputedForThatPlace) {
  const TrainGraphs graphs = make_train_graphs(reads_first_place(true), options_with("sgd"));
  int of_all_places = 0;
  for (NodeId id : graphs.step.nodes("linear"))
    of_all_places += graphs.step.type(graphs.step.result(id)).rank() == 3 &&
                     graphs.step.type(graphs.step.result(id)).shape[1] != Dim(1);
  EXPECT_EQ(of_all_places, 2);  // keys and values

  const NamedTensors batch{{"x", normal_tensor(7, {3, 5, 8})}, {"labels", Tensor::of<int64_t>({3}, {0, 1, 1})}};
  std::vector<NamedTensors> after;
  for (const auto& [as_slice, threads] : {std::pair{true, 1}, {true, 2}, {false, 1}}) {
    Trainer trainer(make_train_graphs(reads_first_place(as_slice), options_with("sgd")), {.threads = threads});
    step(trainer, batch, 0.5);
    NamedTensors& parameters = after.emplace_back();
    for (const auto& [name, value] : trainer.parameters()) parameters[name] = value;
  }
  ASSERT_EQ(after[0].size(), 5u);
  for (const auto& [name, value] : after[0]) {
    EXPECT_TRUE(value.same_bits(after[1].at(name))) << name;
    const std::vector<double> got = value.to_doubles(), want = after[2].at(name).to_doubles();
    // A gradient is sums of at most 3 · 5 · 8 products of numbers below 4, through four layers.
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 4 * 120 * 4 * kEpsF32) << name << " " << i;
  }
}

TEST(Trainer, AFrozenBatchNormKeepsItsStatistics) {
  TrainGraphOptions options = options_with("adamw");
  options.groups.rules = {"norm=frozen"};
  const TrainGraphs graphs = make_train_graphs(canonicalise_for_training(normed_network()), options);
  EXPECT_TRUE(graphs.statistics.empty());
  Trainer trainer(graphs, {});
  for (uint64_t i = 0; i < 3; ++i) step(trainer, images(i, 8), 0.01);
  EXPECT_EQ(trainer.parameters().size(), 3u);
}

// W + B A = {{3,4},{2,0}} has rows of length 5 and 2, so the factors of m = {5,4} are 1 and 2. With x = {1,1}, A x = 1
// and W x + B A x = {7,2}: logits {7,4}, and of the mean squared error to {7,3} the gradient is {0,1}. That of B is
// {0,1·2·1} where the lengths are taken as given, and 0 through them, since a longer row is divided by as much.
TEST(Trainer, TheGradientOfDoraTakesTheLengthsOfRowsAsGiven) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2}});
  const ValueId w = g.add_constant("fc.weight", Tensor::of<float>({2, 2}, {3, 4, 1, 0}));
  g.add_output(ops::linear(g, {.x = x, .w = w}), "logits");
  const AdapterTensors adapter{.layer = "fc",
                               .a = Tensor::of<float>({1, 2}, {1, 0}),
                               .b = Tensor::of<float>({2, 1}, {0, 1}),
                               .magnitude = Tensor::of<float>({2}, {5, 4})};
  TrainGraphOptions options = options_with("sgd");
  options.loss.loss = "mse";
  options.groups.rules = {"lora_B=rate:1", ".*=frozen"};
  const Graph adapted = canonicalise_for_training(attach_adapters(std::move(g), {&adapter, 1}));
  Trainer trainer(make_train_graphs(adapted, options), {});
  step(trainer, {{"x", Tensor::of<float>({1, 2}, {1, 1})}, {"labels", Tensor::of<float>({1, 2}, {7, 3})}}, 1);
  const std::vector<float> b = trainer.tensors().at("parameter/fc.lora_B.weight").to_floats();
  EXPECT_NEAR(b[0], 0, 8 * kEpsF32);
  EXPECT_NEAR(b[1], 1 - 2, 8 * kEpsF32);
}

TEST(Trainer, DropoutLeavesOutTheSameHoweverABatchIsSplit) {
  TrainGraphOptions options = options_with("sgd");
  options.dropout = 0.5;
  const NamedTensors batch = random_batch(5, 16, 8, 4);
  const auto logits_of = [&](bool in_parts, uint64_t seed) {
    TrainGraphOptions own = options;
    own.accumulate = in_parts;
    own.seed = seed;
    Trainer trainer(make_train_graphs(perceptron(8, 16, 4), own), {});
    std::vector<NamedTensors> parts = {batch};
    if (in_parts) parts = {rows_of(batch, 0, 5), rows_of(batch, 5, 16)};
    std::vector<double> all;
    for (const Tensor& part : trainer.step(parts, 0.1).predictions)
      for (double v : part.to_doubles()) all.push_back(v);
    return all;
  };
  const std::vector<double> whole = logits_of(false, 1), in_parts = logits_of(true, 1), other = logits_of(false, 2);
  double changed = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const double bound = 2 * 40 * kEpsF32 * 8;  // sums of 16 terms that are below 8 in all, of 40 roundings
    EXPECT_NEAR(whole[i], in_parts[i], bound);
    changed = std::max(changed, std::abs(whole[i] - other[i]) / bound);
  }
  EXPECT_GT(changed, 1000);
  Trainer without(make_train_graphs(perceptron(8, 16, 4), options), {});
  const NamedTensors same = batch;
  EXPECT_EQ(without.evaluate(same).predictions.to_doubles(), without.evaluate(same).predictions.to_doubles());
}

// x → linear → tanh, `depth` times, → linear: "logits".
Graph deep_perceptron(int64_t width, int depth) {
  Graph g;
  ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), width}});
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  for (int i = 0; i <= depth; ++i) {
    const std::string name = std::to_string(i);
    const auto seed = static_cast<uint64_t>(i);
    x = ops::linear(g, {.x = x,
                        .w = g.add_constant(name + ".weight", normal_tensor(seed, {width, width}, scale)),
                        .b = g.add_constant(name + ".bias", normal_tensor(seed + 50, {width}, 0.1f))});
    if (i < depth) x = ops::tanh(g, {x});
  }
  g.add_output(x, "logits");
  return g;
}

TEST(Trainer, DropoutOfNamedLayersIsBeforeThose) {
  TrainGraphOptions options = options_with("sgd");
  options.dropout = 0.5, options.seed = 3;
  const auto drops = [&](std::vector<std::string> layers) {
    options.dropout_layers = std::move(layers);
    const Graph step = make_train_graphs(canonicalise_for_training(deep_perceptron(8, 3)), options).step;
    std::vector<std::string> readers;
    const std::vector<std::vector<Graph::Use>> uses = step.all_uses();
    for (NodeId id : step.nodes(dropout_train_def))
      for (const Graph::Use& use : uses[static_cast<size_t>(step.node(id).results[0])])
        if (step.node(use.node).op == &linear_def) readers.push_back(step.value(step.node(use.node).operands[1]).label);
    return readers;
  };
  EXPECT_THAT(drops({}), ElementsAre("3.weight"));
  EXPECT_THAT(drops({"[12]"}), ElementsAre("1.weight", "2.weight"));
  EXPECT_THAT(error_of([&] { drops({"1", "attention"}); }), HasSubstr("dropout-layers \"attention\""));
  options.dropout = 0;
  EXPECT_THAT(error_of([&] { drops({"1"}); }), HasSubstr("dropout is 0"));
}

TEST(Trainer, RecomputedActivationsTakeLessMemoryAndGiveTheSameSteps) {
  const auto trained = [](int64_t recompute, int64_t& values) {
    TrainGraphOptions options = options_with("adamw");
    options.recompute = recompute;
    Trainer trainer(make_train_graphs(deep_perceptron(16, 16), options), {});
    values = trainer.plan({.step = {{"B", 512}}}).values;
    for (uint64_t i = 0; i < 3; ++i) step(trainer, random_batch(i, 512, 16, 16), 0.01);
    return trainer.tensors();
  };
  int64_t kept = 0, recomputed = 0;
  const std::map<std::string, Tensor> all = trained(0, kept), some = trained(4, recomputed);
  const int64_t activation = 4 * 512 * 16;
  EXPECT_GE(kept, 16 * activation);        // one of each layer
  EXPECT_LE(recomputed, 12 * activation);  // one of every fourth, those of a stretch, and gradients on the way
  for (const auto& [name, tensor] : all) EXPECT_TRUE(tensor.same_bits(some.at(name))) << name;
}

TEST(Trainer, SaysWhatAStepTakes) {
  Trainer trainer(make_train_graphs(perceptron(64, 256, 10), options_with("adamw")), {});
  const TrainingMemory memory = trainer.plan({.step = {{"B", 128}}, .step_data = 77});
  const int64_t weights = 64 * 256 + 256 + 256 * 10 + 10;
  EXPECT_EQ(memory.parameters, 4 * weights);
  EXPECT_EQ(memory.state, 2 * 4 * weights);
  EXPECT_GE(memory.values, 4 * 128 * 256);         // the hidden layer, which its gradient needs
  EXPECT_LE(memory.values, 4 * 128 * 256 * 6);     // and little more
  EXPECT_LE(memory.outputs, 4 * 128 * 10 + 4096);  // updates are in place
  EXPECT_EQ(memory.data, 77);
  // A validation of many more rows is what takes the most then, with weights laid out.
  const TrainingMemory judged =
      trainer.plan({.step = {{"B", 1}}, .step_data = 77, .validation = {{{"B", 4096}}}, .validation_data = 78});
  EXPECT_GE(judged.values, 4 * 4096 * 256);
  EXPECT_GE(judged.laid_out, 4 * 64 * 256);
  EXPECT_EQ(judged.data, 78);
  // A table that nothing lays out: the most is when it is put back, once laid out weights are gone.
  Trainer reader(make_train_graphs(reads_table(1 << 20), options_with("adamw")), {});
  const TrainingMemory read =
      reader.plan({.step = {{"B", 1}}, .step_data = 77, .validation = {{{"B", 64}}}, .validation_data = 78});
  EXPECT_EQ(read.data, 4 * (1 << 20) * 4);
  EXPECT_EQ(read.laid_out, 0);
}

TEST(Trainer, ValidationsBetweenStepsChangeNothing) {
  for (bool in_parts : {false, true}) {
    TrainGraphOptions options = options_with("adamw");
    options.accumulate = in_parts;
    const TrainGraphs graphs = make_train_graphs(perceptron(64, 256, 10), options);
    Trainer judged(graphs, {}), plain(graphs, {});
    double last = 0;
    for (uint64_t i = 0; i < 4; ++i) {
      const NamedTensors batch = random_batch(1, 64, 64, 10);
      step(judged, batch, 0.01);
      step(plain, batch, 0.01);
      const double loss = judged.evaluate(batch).loss_sum;
      EXPECT_NE(loss, last);  // of the weights as they are now
      last = loss;
    }
    EXPECT_EQ(last, plain.evaluate(random_batch(1, 64, 64, 10)).loss_sum);
    for (const auto& [name, tensor] : plain.tensors()) EXPECT_TRUE(tensor.same_bits(judged.tensors().at(name))) << name;
  }
}

TEST(Trainer, TrainedWeightsAreConstantsOfTheModel) {
  const Graph model = perceptron(2, 4, 2);
  Trainer trainer(make_train_graphs(model, options_with("sgd")), {});
  for (int i = 0; i < 3; ++i) step(trainer, xor_batch(), 0.5);
  Session trained(with_trained(model, trainer.parameters()), {});
  const NamedTensors batch = xor_batch();
  const std::vector<double> a = trained.run({{"x", batch.at("x")}})[0].to_doubles(),
                            b = trainer.evaluate(batch).predictions.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 16 * kEpsF32 * 4);
}

}  // namespace
}  // namespace hone::test
