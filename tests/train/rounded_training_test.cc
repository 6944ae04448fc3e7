// Training against rounding: it begins with what quantizing after training gives, what is packed computes what was
// trained to the bit, training makes up for few bits, and scales that are learned, or can't be.
#include "train/rounded_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/calls/activations.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "passes/pipelines.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"
#include "train/loop/trainer.h"
#include "train/registry.h"

namespace hone::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

// x[B,2,6,6] → conv → relu → flatten → linear → "logits" [B,3].
Graph network() {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2, 6, 6}});
  const ValueId h =
      ops::relu(g, {ops::conv(g, {.x = x,
                                  .w = g.add_constant("conv.weight", normal_tensor(1, {4, 2, 3, 3}, 0.3f)),
                                  .b = g.add_constant("conv.bias", normal_tensor(2, {4}, 0.1f))})});
  const ValueId flat = ops::reshape(g, {.x = h, .shape = Shape{Dim::symbol("B"), 64}});
  g.add_output(ops::linear(g, {.x = flat,
                               .w = g.add_constant("fc.weight", normal_tensor(3, {3, 64}, 0.2f)),
                               .b = g.add_constant("fc.bias", normal_tensor(4, {3}, 0.1f))}),
               "logits");
  return canonicalise_for_training(std::move(g));
}

NamedTensors batch(uint64_t seed, int64_t rows = 24) {
  const Tensor x = normal_tensor(seed, {rows, 2, 6, 6});
  const std::vector<float> values = x.to_floats();
  std::vector<int64_t> labels;
  for (int64_t r = 0; r < rows; ++r) {  // by the signs of two sums
    float a = 0, b = 0;
    for (size_t i = 0; i < 36; ++i)
      a += values[static_cast<size_t>(r) * 72 + i], b += values[static_cast<size_t>(r) * 72 + 36 + i];
    labels.push_back(a > 0 ? 0 : b > 0 ? 1 : 2);
  }
  return {{"x", x}, {"labels", Tensor::of<int64_t>({rows}, labels)}};
}

std::vector<ValueRange> ranges_on(const Graph& graph, std::span<const ValueId> values) {
  const NamedTensors given = batch(7);
  const NamedTensors inputs[] = {{{"x", given.at("x")}}};
  return collect_ranges(graph, values, inputs);
}

RoundedModel rounded(const std::vector<std::string>& rules, bool learn = false) {
  return round_for_training(network(), {.rules = rules, .learn_scales = learn}, ranges_on);
}

TrainGraphOptions adam(const std::vector<std::string>& rules = {}) {
  TrainGraphOptions options;
  options.groups.rules = rules;
  for (const OptimizerDef* def : train::all())
    if (std::string("adam") == def->name) options.optimizer = def, options.optimizer_options = def->options->defaults();
  return options;
}

Tensor outputs_of(const Graph& graph) { return Session(graph, {.optimise = 0}).run({{"x", batch(9).at("x")}})[0]; }

// Steps on changing batches; the model with what it learned, and the loss at the end.
std::pair<Graph, double> trained(const RoundedModel& model, int steps, double rate = 5e-3) {
  Trainer trainer(make_train_graphs(model.graph, adam(model.rules)), {});
  double loss = 0;
  for (int i = 0; i < steps; ++i) {
    const NamedTensors rows = batch(100 + static_cast<uint64_t>(i));
    const double now = trainer.step({&rows, 1}, rate).loss;
    loss = i == 0 ? now : 0.9 * loss + 0.1 * now;
  }
  return {with_trained(model.graph, trainer.parameters()), loss};
}

TEST(RoundedTraining, BeginsWithWhatQuantizingGives) {
  for (const char* rule : {".*=int4.channel", ".*=mxint4", ".*=int8.f5", ".*=bf16", ".*=ternary.channel"}) {
    const Graph quantized = quantize(network(), [&] {
      QuantizeOptions options;
      options.rule = {rule};
      return options;
    }());
    EXPECT_TRUE(outputs_of(rounded({rule}).graph).same_bits(outputs_of(quantized))) << rule;
  }
}

TEST(RoundedTraining, WhatIsPackedComputesWhatWasTrainedToTheBit) {
  const std::vector<std::vector<std::string>> all{{"op:conv=int4.channel", "op:linear=int3.g16"},
                                                  {".*=mxint4", "op:linear.in=int8"},
                                                  {".*=int4.f3", ".*\\.in=int8.f4"},
                                                  {".*=log4"},
                                                  {".*=rsign2"},
                                                  {".*=bfp8.compat=mase"}};
  for (const auto& rules : all) {
    SCOPED_TRACE(rules[0]);
    const Graph graph = trained(rounded(rules), 4).first, packed = packed_as_trained(graph, Packer());
    verify(packed);
    EXPECT_TRUE(outputs_of(graph).same_bits(outputs_of(packed)));
    EXPECT_FALSE(outputs_of(rounded(rules).graph).same_bits(outputs_of(packed)));  // it did learn
    for (ValueId id : packed.constants()) EXPECT_NE(packed.value(id).label, "conv.weight.matrix");
  }
}

// Convolutions behind one that is trained hand gradients on through their rounded weights, which may lie as a matrix.
TEST(RoundedTraining, GradientsThroughConvolutionsAreCompiled) {
  const auto convolutions = [] {
    Graph g;
    const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2, 6, 6}});
    const auto weight = [&](const char* name, uint64_t seed, const std::vector<int64_t>& shape) {
      return g.add_constant(name, normal_tensor(seed, shape, 0.3f));
    };
    using List = std::vector<int64_t>;
    ValueId h = ops::relu(g, {ops::conv(g, {.x = x, .w = weight("first", 1, {4, 2, 3, 3}), .pads = List{1, 1, 1, 1}})});
    h = ops::conv(g,
                  {.x = h, .w = weight("strided", 2, {4, 4, 3, 3}), .strides = List{2, 2}, .pads = List{1, 1, 1, 1}});
    h = ops::conv(g, {.x = h, .w = weight("depthwise", 3, {4, 1, 3, 3}), .pads = List{1, 1, 1, 1}, .groups = 4});
    h = ops::conv(g, {.x = h, .w = weight("wide", 4, {8, 4, 3, 3}), .pads = List{1, 1, 1, 1}});
    h = ops::conv(g, {.x = h, .w = weight("pointwise", 5, {6, 8, 1, 1})});
    const ValueId flat = ops::reshape(g, {.x = h, .shape = Shape{Dim::symbol("B"), 54}});
    g.add_output(ops::linear(g, {.x = flat, .w = weight("fc", 6, {3, 54})}), "logits");
    return canonicalise_for_training(std::move(g));
  };
  for (const char* rule : {".*=int8.channel", ".*=int4.channel", ".*=mxint4"}) {
    const RoundedModel model = round_for_training(convolutions(), {.rules = {rule}}, {});
    const TrainGraphs graphs = make_train_graphs(model.graph, adam(model.rules));
    NamedTensors inputs = batch(1);
    inputs[TrainNames::kRate] = Tensor::scalar<float>(1e-3f);
    inputs[TrainNames::kStep] = Tensor::scalar<float>(1);
    inputs[TrainNames::kSample] = Tensor::scalar<int64_t>(0);
    std::erase_if(inputs, [&](const auto& named) { return graphs.step.find_value(named.first) == kNone; });
    Context context;
    for (ValueId v : graphs.step.inputs())
      if (const Value& held = graphs.step.value(v); held.role == InputRole::state)
        context.set_state(held.label, Tensor(held.type.dtype, constant_shape(held.type.shape)));
    Session session(graphs.step, {});
    RunProfile profile;
    session.run(context, inputs, &profile);
    EXPECT_FALSE(profile.steps.empty());
    for (const StepProfile& step : profile.steps)
      EXPECT_NE(step.kind, "interpreted") << rule << " " << step.name << ": " << step.why_interpreted;
    // The same losses as by the definitions.
    Trainer compiled(graphs, {}), reference(graphs, {.device = open_device("reference")});
    for (uint64_t i = 0; i < 3; ++i) {
      const NamedTensors rows = batch(i);
      const double loss = reference.step({&rows, 1}, 1e-3).loss;
      EXPECT_NEAR(compiled.step({&rows, 1}, 1e-3).loss, loss, 1e-3 * loss) << rule;
    }
  }
}

TEST(RoundedTraining, WithLearnedScalesToo) {
  const std::vector<std::vector<std::string>> all{{".*=int4.channel", ".*\\.in=int8"},
                                                  {".*=int3.g16", "op:linear.in=uint8.asym"},
                                                  {".*=mxint4"},
                                                  {".*=int4.f3", ".*\\.in=int8.f4"},
                                                  {".*=uint4.channel.asym"},
                                                  {"op:linear=int4.g2x8.s=bf16"}};
  for (const auto& rules : all) {
    SCOPED_TRACE(rules[0]);
    const RoundedModel model = rounded(rules, true);
    const Graph graph = trained(model, 8).first, packed = packed_as_trained(graph, Packer());
    verify(packed);
    EXPECT_TRUE(outputs_of(graph).same_bits(outputs_of(packed)));
    int scales = 0;
    for (ValueId id : model.graph.constants()) {
      const std::string& label = model.graph.value(id).label;
      if (label.find(".quant_") == std::string::npos) continue;
      ++scales;
      EXPECT_FALSE(model.graph.constant(id)->same_bits(*graph.constant(graph.find_constant(label)))) << label;
    }
    EXPECT_GE(scales, 1);
  }
}

TEST(RoundedTraining, OfFixedPointTheFractionBitsAreLearned) {
  const RoundedModel model = rounded({"op:linear=int4.f0"}, true);
  Graph graph = model.graph;
  const ValueId step = graph.find_constant("fc.weight.quant_scale");
  ASSERT_NE(step, kNone);
  EXPECT_EQ(graph.constant(step)->to_floats(), std::vector<float>{1});
  graph.set_constant(step, Tensor::scalar(0.07f));
  const Graph packed = packed_as_trained(graph, Packer());
  EXPECT_EQ(to_string(*packed.constant(packed.find_constant("fc.weight"))->format()), "int4.f4");
  EXPECT_TRUE(outputs_of(graph).same_bits(outputs_of(packed)));
}

TEST(RoundedTraining, MakesUpForFewBits) {
  const double exact = trained({.graph = network(), .rules = {}, .what = ""}, 150).second;
  for (bool learn : {false, true}) {
    const RoundedModel model = rounded({".*=int2.channel"}, learn);
    const double first = trained(model, 1).second, last = trained(model, 150).second;
    EXPECT_LT(last, 0.75 * first) << learn;
    EXPECT_LT(last, exact + 0.35) << learn;
  }
}

TEST(RoundedTraining, PackedWeightsAreTrainedOn) {
  QuantizeOptions options;
  options.rule = {".*=int8.channel"};
  const Graph packed = quantize(network(), options);
  const RoundedModel model = round_for_training(packed, {.rules = {"op:linear=int4.channel"}}, ranges_on);
  EXPECT_TRUE(packed.constant(packed.find_constant("conv.weight"))->is_packed());
  EXPECT_TRUE(model.graph.constant(model.graph.find_constant("conv.weight"))->is_packed());  // no rule names it
  EXPECT_EQ(model.graph.constant(model.graph.find_constant("fc.weight"))->dtype(), DType::f32);
  EXPECT_FALSE(model.graph.constant(model.graph.find_constant("fc.weight"))->is_packed());
  const RoundedModel same = round_for_training(packed, {.rules = {".*=int8.channel"}}, ranges_on);
  EXPECT_TRUE(outputs_of(same.graph).same_bits(outputs_of(packed)));
}

TEST(RoundedTraining, FrozenWeightsArePackedBeforeItBegins) {
  const RoundedModel model = rounded({".*=int4.channel"});
  TrainGraphs graphs = make_train_graphs(model.graph, adam({"fc.weight=frozen"}));
  for (const Graph* graph : {&graphs.step, &graphs.evaluate})
    EXPECT_TRUE(graph->constant(graph->find_constant("fc.weight"))->is_packed());
  Trainer trainer(std::move(graphs), {});
  const NamedTensors rows = batch(3);
  trainer.step({&rows, 1}, 1e-2);
  EXPECT_TRUE(std::isfinite(trainer.step({&rows, 1}, 1e-2).loss));
}

TEST(RoundedTraining, ScalesDoNotDecay) {
  const RoundedModel model = rounded({".*=int3.g16"}, true);
  TrainGraphOptions options = adam(model.rules);
  options.groups.decay = 0.1;
  int scales = 0;
  for (const TrainedParameter& p : make_train_graphs(model.graph, options).parameters) {
    const bool is_scale = p.name.ends_with(".quant_scale");
    scales += is_scale;
    EXPECT_EQ(p.decay, is_scale || p.name.ends_with("bias") ? 0 : 0.1) << p.name;
    EXPECT_EQ(p.rate_factor, is_scale ? 0.1 : 1) << p.name;
  }
  EXPECT_EQ(scales, 2);
}

TEST(RoundedTraining, RefusesWhatCanNotBe) {
  const auto error = [](const std::vector<std::string>& rules, bool learn = false) {
    return error_of([&] { rounded(rules, learn); });
  };
  EXPECT_THAT(error({"cnov=int4"}), HasSubstr("cnov"));
  EXPECT_THAT(error({"op:conv=keep"}), HasSubstr("the rules of qat round nothing"));
  EXPECT_THAT(error({"op:conv=int4.g32", "op:linear=fp8_e4m3"}, true),
              testing::AllOf(HasSubstr("fc.weight: no scale can be learned"), HasSubstr("fp8_e4m3 has no scale")));
  EXPECT_THAT(error({"op:linear.in=mxint8"}, true),
              testing::AllOf(HasSubstr("fc.in"), HasSubstr("learned for the whole tensor")));
}

}  // namespace
}  // namespace hone::test
