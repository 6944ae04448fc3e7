// Parts of a wider network: cut out of it, trained with it, and batch norms whose statistics are measured anew.
#include "train/supernet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/transcendental.h"
#include "tests/support/bound.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/norm_statistics.h"
#include "train/registry.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

Graph perceptron(int64_t hidden, bool has_second = true) {
  Graph g;
  ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2}});
  const auto linear = [&](const std::string& name, int64_t inputs, int64_t outputs) {
    x = ops::linear(g, {.x = x,
                        .w = g.add_constant(name + ".weight", normal_tensor(hidden + inputs, {outputs, inputs}, 0.5f)),
                        .b = g.add_constant(name + ".bias", normal_tensor(hidden, {outputs}, 0.1f))});
  };
  linear("first", 2, hidden);
  x = ops::tanh(g, {x});
  if (has_second) {
    linear("second", hidden, hidden);
    x = ops::tanh(g, {x});
  }
  linear("last", hidden, 2);
  g.add_output(x, "logits");
  return g;
}

SupernetOptions options_of(const std::string& optimizer, double distil = 0) {
  SupernetOptions options;
  for (const OptimizerDef* def : train::all())
    if (optimizer == def->name)
      options.graphs.optimizer = def, options.graphs.optimizer_options = def->options->defaults();
  options.distil.weight = distil;
  return options;
}

NamedTensors xor_batch() {
  return {{"x", Tensor::of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
          {"labels", Tensor::of<int64_t>({4}, {0, 1, 1, 0})}};
}

Trainer::Evaluation judged(Graph network, const Graph& whole) {
  inherit_weights(network, whole);
  return Trainer(make_train_graphs(network, options_of("sgd").graphs), {}).evaluate(xor_batch());
}
double loss_of(const Graph& network, const Graph& whole) {
  const Trainer::Evaluation e = judged(network, whole);
  return e.loss_sum / e.count;
}

TEST(NestedWeights, AWindowIsTheMiddleOfAWiderOne) {
  const auto convolution = [](int64_t outputs, int64_t inputs, int64_t kernel) {
    Graph g;
    const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {1, inputs, 8, 8}});
    std::vector<float> values;
    for (int64_t i = 0; i < outputs * inputs * kernel * kernel; ++i) values.push_back(static_cast<float>(i));
    g.add_output(
        ops::conv(g, {.x = x, .w = g.add_constant("w", Tensor::of<float>({outputs, inputs, kernel, kernel}, values))}),
        "y");
    return g;
  };
  Graph small = convolution(1, 2, 3);
  inherit_weights(small, convolution(2, 3, 5));
  const std::vector<float> w = small.constant(small.find_constant("w"))->to_floats();
  for (int64_t channel = 0; channel < 2; ++channel)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t x = 0; x < 3; ++x)
        EXPECT_EQ(w[static_cast<size_t>(channel * 9 + y * 3 + x)],
                  static_cast<float>(channel * 25 + (y + 1) * 5 + x + 1));
}

TEST(NestedWeights, WhatIsAddedToAPartIsThatPart) {
  Tensor whole(DType::f32, {2, 3, 4});
  const NestedPart part{.origin = {0, 1, 0}, .shape = {2, 1, 3}};
  add_to(whole, part, Tensor::of<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  add_to(whole, part, Tensor::of<float>({2, 1, 3}, {1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(cut(whole, part).to_floats(), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_THAT(whole.to_floats(), testing::ElementsAre(0, 0, 0, 0, 2, 3, 4, 0, 0, 0, 0, 0,  //
                                                      0, 0, 0, 0, 5, 6, 7, 0, 0, 0, 0, 0));
}

// A sub-network computes what one with weights that were sliced by hand computes.
TEST(Supernet, APartIsOfTheLeadingRowsAndColumns) {
  const Graph whole = perceptron(6);
  Graph by_hand = perceptron(3, false);
  const auto floats = [&](const char* name) { return whole.constant(whole.find_constant(name))->to_floats(); };
  const std::vector<float> first = floats("first.weight"), bias = floats("first.bias"), last = floats("last.weight");
  const auto set = [&](const char* name, Tensor tensor) {
    by_hand.set_constant(by_hand.find_constant(name), std::move(tensor));
  };
  set("first.weight", Tensor::of<float>({3, 2}, {first.begin(), first.begin() + 6}));
  set("first.bias", Tensor::of<float>({3}, {bias.begin(), bias.begin() + 3}));
  set("last.weight", Tensor::of<float>({2, 3}, {last[0], last[1], last[2], last[6], last[7], last[8]}));
  set("last.bias", *whole.constant(whole.find_constant("last.bias")));
  EXPECT_TRUE(
      judged(perceptron(3, false), whole)
          .predictions.same_bits(
              Trainer(make_train_graphs(by_hand, options_of("sgd").graphs), {}).evaluate(xor_batch()).predictions));
}

// The gradient of a step is the mean of those of the whole and of its part, each by itself.
TEST(Supernet, AStepIsByTheMeanOfTheGradients) {
  const Graph whole = perceptron(4), part = perceptron(2, false);
  const auto moved = [&](Graph network) {
    if (network.find_constant("second.weight") == kNone) inherit_weights(network, whole);
    Trainer alone(make_train_graphs(network, options_of("sgd").graphs), {});
    const NamedTensors batch = xor_batch();
    alone.step(std::span(&batch, 1), 1);
    return with_trained(network, alone.parameters());
  };
  const Graph whole_moved = moved(whole), part_moved = moved(part);
  SupernetTrainer trainer(whole, options_of("sgd"));
  trainer.step(std::vector{trainer.add(part)}, xor_batch(), 1);
  const Graph found = trainer.trained();
  for (ValueId id : whole.constants()) {
    const std::string& label = whole.value(id).label;
    const std::vector<float> before = whole.constant(id)->to_floats(),
                             after = found.constant(found.find_constant(label))->to_floats();
    Tensor both = *whole_moved.constant(whole_moved.find_constant(label));
    for (size_t i = 0; float& v : both.mutable_as<float>()) v -= before[i++];
    if (const ValueId theirs = part_moved.find_constant(label); theirs != kNone) {
      Graph begun = part;
      inherit_weights(begun, whole);
      Tensor change = *part_moved.constant(theirs);
      const std::vector<float> from = begun.constant(begun.find_constant(label))->to_floats();
      for (size_t i = 0; float& v : change.mutable_as<float>()) v -= from[i++];
      add_to(both, *nested_part(part, part.find_constant(label), whole.constant(id)->shape()), change);
    }
    // Sums of four rows and of two networks, and what was taken off again, of weights below 4.
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_NEAR(after[i] - before[i], both.to_floats()[i] / 2, 32 * kEpsF32) << label << " " << i;
  }
}

TEST(Supernet, AllOfItsPartsLearn) {
  for (const double distil : {0.0, 0.5}) {
    const Graph whole = perceptron(16);
    SupernetTrainer trainer(whole, options_of("adam", distil));
    const std::vector<size_t> parts{trainer.add(perceptron(8)), trainer.add(perceptron(12, false))};
    for (int i = 0; i < 300; ++i) trainer.step(parts, xor_batch(), 0.02);
    const Graph trained = trainer.trained();
    for (const Graph& network : {whole, perceptron(8), perceptron(12, false)})
      EXPECT_LT(loss_of(network, trained), 0.2);
    // One trained alone has parts that nothing says anything about.
    SupernetTrainer alone(whole, options_of("adam"));
    for (int i = 0; i < 300; ++i) alone.step({}, xor_batch(), 0.02);
    EXPECT_LT(loss_of(whole, alone.trained()), 0.2);
    EXPECT_GT(loss_of(perceptron(8), alone.trained()), 0.4);
  }
}

TEST(Supernet, IsTheSameBitsAgainAndAfterItWasPutBack) {
  const Graph whole = perceptron(6);
  const auto values = [&](int stop) {
    auto trainer = std::make_unique<SupernetTrainer>(whole, options_of("adamw", 0.5));
    std::vector<size_t> parts{trainer->add(perceptron(3))};
    for (int i = 0; i < 12; ++i) {
      if (i == stop) {
        const auto kept = trainer->trainer().tensors();
        trainer = std::make_unique<SupernetTrainer>(whole, options_of("adamw", 0.5));
        parts = {trainer->add(perceptron(3))};
        trainer->trainer().restore(kept, i, "kept");
      }
      trainer->step(parts, xor_batch(), 0.05);
    }
    std::vector<float> all;
    for (const auto& [name, tensor] : trainer->trainer().parameters())
      for (const float v : tensor.to_floats()) all.push_back(v);
    return all;
  };
  const std::vector<float> once = values(-1);
  EXPECT_EQ(once, values(-1));
  EXPECT_EQ(once, values(5));
}

TEST(Supernet, SaysWhatIsNoPartOfIt) {
  SupernetTrainer trainer(perceptron(4, false), options_of("sgd"));
  EXPECT_THAT(error_of([&] { trainer.add(perceptron(6, false)); }),
              HasSubstr("which is no part of the largest network's"));
  EXPECT_THAT(error_of([&] { trainer.add(perceptron(4)); }), HasSubstr("second.weight is no weight of the largest"));
  Graph other;
  other.add_output(ops::tanh(other, {other.add_input("z", {.dtype = DType::f32, .shape = {2}})}), "logits");
  EXPECT_THAT(error_of([&] { trainer.add(other); }), HasSubstr("it takes z: f32[2], and the largest network x: "));
}

// y = (x - mean) of two channels whose values are known.
TEST(NormStatistics, AreTheMeanOverTheBatches) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 1}});
  const auto vector = [&](const char* name, float value) {
    return g.add_constant(name, Tensor::of<float>({1}, {value}));
  };
  const auto norm = [&](ValueId of, const std::string& name) {
    return ops::batch_norm(g, {.x = of,
                               .scale = vector((name + ".scale").c_str(), 2),
                               .bias = vector((name + ".bias").c_str(), 1),
                               .mean = vector((name + ".mean").c_str(), 7),
                               .variance = vector((name + ".variance").c_str(), 9)});
  };
  g.add_output(norm(norm(x, "a"), "b"), "y");
  const std::vector<NamedTensors> batches{{{"x", Tensor::of<float>({2, 1}, {1, 3})}},
                                          {{"x", Tensor::of<float>({2, 1}, {2, 8})}}};
  const Graph found = with_measured_statistics(g, batches, {});
  const auto value = [&](const char* name) { return found.constant(found.find_constant(name))->to_floats().at(0); };
  EXPECT_EQ(value("a.mean"), 3.5f);              // of 2 and 5
  EXPECT_EQ(value("a.variance"), 10.0f);         // of 2 and 18: two values differ by 2, or 6; n - 1 of them count
  EXPECT_NEAR(value("b.mean"), 1, 8 * kEpsF32);  // the bias before it
  EXPECT_NEAR(value("b.variance"), 8, 1e-3);     // twice the scale's square, but for epsilon
  EXPECT_EQ(value("a.scale"), 2.0f);
}

}  // namespace
}  // namespace hone::test
