#include "passes/quantize.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

using test::error_of;

Graph model() {
  return test::parse(R"(
    %ids : i64[B,S] = input
    %table : f32[5,4] = const "emb.weight" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
    %x = gather %table, %ids
    %g : f32[4] = const "ln.weight" {1, 2, 3, 4}
    %h : f32[4] = const "ln.bias" {0.1, 0.2, 0.3, 0.4}
    %n = layer_norm %x, %g, %h
    %w0 : f32[2,4] = const "layer.0.dense.weight" {1, -1, 0.3, 0.7, 0.11, 0.21, 0.31, 0.41}
    %b0 : f32[2] = const "layer.0.dense.bias" {0.1, 0.7}
    %a = linear %n, %w0, %b0
    %w1 : f32[3,2] = const "layer.1.dense.weight" {0.13, -0.4, 0.3, 0.7, 0.11, 0.21}
    %y = linear %a, %w1
    return %y)");
}

std::map<std::string, QuantizeChoice> plan(const QuantizeOptions& options) {
  std::map<std::string, QuantizeChoice> choices;
  for (QuantizeChoice& choice : plan_quantisation(model(), options)) choices[choice.name] = choice;
  return choices;
}

Graph quantized(const QuantizeOptions& options) {
  return run_pass(model(), "quantize", {options}, {.disabled = {}, .verify = true, .after = {}});
}

TEST(PlanQuantisation, DefaultTakesWeightsAndTablesAndKeepsBiasesAndNorms) {
  auto choices = plan({.to = "mxint8", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(choices.size(), 6u);
  for (const char* name : {"emb.weight", "layer.0.dense.weight", "layer.1.dense.weight"}) {
    EXPECT_EQ(choices[name].after, "mxint8") << name;
    EXPECT_EQ(choices[name].before, "fp32");
    EXPECT_EQ(choices[name].decided_by, "to mxint8");
  }
  for (const char* name : {"ln.weight", "ln.bias", "layer.0.dense.bias"}) {
    EXPECT_EQ(choices[name].after, "fp32") << name;
    EXPECT_FALSE(choices[name].format);
    EXPECT_EQ(choices[name].decided_by, "kept by default");
  }
}

TEST(PlanQuantisation, TheLastMatchDecidesAndSaysWhatItOverrode) {
  auto choices = plan({.to = "mxint8",
                       .rule = {"op:linear=mxfp4", "layer=int8", "name:layer.1.dense.weight=mxfp8_e4m3.rule=rceil"},
                       .skip = {},
                       .activations = ""});
  EXPECT_EQ(choices["emb.weight"].after, "mxint8");
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "int8");
  EXPECT_EQ(choices["layer.0.dense.weight"].overridden, (std::vector<std::string>{"op:linear=mxfp4"}));
  EXPECT_EQ(choices["layer.1.dense.weight"].after, "mxfp8_e4m3.rule=rceil");
  EXPECT_EQ(choices["layer.1.dense.weight"].overridden, (std::vector<std::string>{"op:linear=mxfp4", "layer=int8"}));
}

TEST(PlanQuantisation, NamesReachWhatIsKeptAndExpressionsDoNot) {
  auto choices = plan({.to = "", .rule = {"name:layer.0.dense.bias=fp16", ".*=mxint8"}, .skip = {}, .activations = ""});
  EXPECT_EQ(choices["layer.0.dense.bias"].after, "fp16");
  EXPECT_EQ(choices["emb.weight"].after, "mxint8");
  EXPECT_EQ(choices["ln.weight"].after, "fp32");
}

TEST(PlanQuantisation, KeepAndSkipLeaveTensorsAlone) {
  auto choices = plan({.to = "mxint8", .rule = {"layer.0=keep"}, .skip = {"^emb"}, .activations = ""});
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "fp32");
  EXPECT_EQ(choices["layer.0.dense.weight"].decided_by, "layer.0=keep");
  EXPECT_EQ(choices["emb.weight"].after, "fp32");
  EXPECT_EQ(choices["emb.weight"].decided_by, "skip ^emb");
  EXPECT_EQ(choices["layer.1.dense.weight"].after, "mxint8");
}

TEST(PlanQuantisation, RefusesRulesWithTheNextStep) {
  struct Wrong {
    const char* rule;
    const char* message;
  };
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"name:layer.0.dense.weights=mxint8", "Did you mean layer.0.dense.weight"},
           {"layer.7=mxint8", "matches no tensor"},
           {"bias=mxint8", "give its exact name: name:ln.bias"},
           {"op:conv=mxint8", "no weight feeds an op conv; ops with weights: gather, linear"},
           {"op:linaer=mxint8", "Did you mean linear"},
           {"layer", "expected pattern=format"},
           {"layer=mxint9", "rule \"layer=mxint9\""},
           {"=mxint8", "nothing stands before the format"},
           {"(=mxint8", "is not a regular expression"},
           {"layer.0=int8.channel.ax5", "layer.0.dense.weight of shape [2,4]"},
       }) {
    const std::string message =
        error_of([&] { plan({.to = "", .rule = {wrong.rule}, .skip = {}, .activations = ""}); });
    EXPECT_NE(message.find(wrong.message), std::string::npos) << wrong.rule << " gives: " << message;
  }
  EXPECT_NE(
      error_of([] { plan({.to = "mxint8", .rule = {}, .skip = {"nothing"}, .activations = ""}); }).find("skip nothing"),
      std::string::npos);
  EXPECT_NE(error_of([] { plan({}); }).find("nothing to quantise"), std::string::npos);
}

TEST(Quantize, FoldingGivesTheBitsOfFakeQuant) {
  const Graph simulated =
      quantized({.to = "mxfp4", .rule = {"layer.0=fp16", "name:ln.weight=bf16"}, .skip = {}, .activations = ""});
  EXPECT_EQ(simulated.nodes("fake_quant").size(), 4u);
  const Graph packed = run_pass(simulated, "fold_fake_quant", {}, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_TRUE(packed.nodes("fake_quant").empty());
  EXPECT_EQ(to_string(packed.type(packed.find_constant("emb.weight"))), "mxfp4[5,4]");
  EXPECT_EQ(to_string(packed.type(packed.find_constant("layer.0.dense.weight"))), "f16[2,4]");
  EXPECT_EQ(to_string(packed.type(packed.find_constant("ln.weight"))), "bf16[4]");
  test::expect_same_outputs(simulated, packed, 0);
}

TEST(Quantize, PackedModelsCanBePackedAgain) {
  Graph g = run_pass(quantized({.to = "mxint8", .rule = {}, .skip = {}, .activations = ""}), "fold_fake_quant");
  for (const QuantizeChoice& choice :
       plan_quantisation(g, {.to = "mxint4", .rule = {}, .skip = {}, .activations = ""})) {
    const bool is_weight = choice.shape.size() == 2;
    EXPECT_EQ(choice.before, is_weight ? "mxint8" : "fp32") << choice.name;
    EXPECT_EQ(choice.after, is_weight ? "mxint4" : "fp32") << choice.name;
  }
  g = run_pass(run_pass(std::move(g), "quantize", {QuantizeOptions{"mxint4", {}, {}, ""}}), "fold_fake_quant");
  verify(g);
  EXPECT_EQ(to_string(g.type(g.find_constant("layer.1.dense.weight"))), "mxint4[3,2]");
}

// A dense window of 4 * 9 weights a row, a depthwise one of 9, and weights that more than a conv reads.
Graph convolutions() {
  Graph g;
  Philox rng(3);
  const auto weights = [&](const char* label, std::vector<int64_t> shape) {
    std::vector<float> values(static_cast<size_t>(element_count(shape)));
    for (float& v : values) v = rng.normal();
    return g.add_constant(label, Tensor::of<float>(std::move(shape), values));
  };
  const Attributes same{{"auto_pad", "same_upper"}};
  ValueId x = g.add_input("x", parse_type("f32[1,4,5,6]"));
  x = g.emit(ops::get("conv"), {x, weights("dense", {4, 4, 3, 3})}, same);
  Attributes depthwise = same;
  depthwise.set("groups", int64_t{4});
  x = g.emit(ops::get("conv"), {x, weights("depthwise", {4, 1, 3, 3})}, depthwise);
  const ValueId shared = weights("shared", {4, 4, 1, 1});
  g.add_output(g.emit(ops::get("conv"), {x, shared}), "y");
  g.add_output(g.emit(ops::get("relu"), {shared}), "z");
  return g;
}

Graph packed_convolutions(const QuantizeOptions& options) {
  return run_pass(run_pass(convolutions(), "quantize", {options}), "fold_fake_quant", {},
                  {.disabled = {}, .verify = true, .after = {}});
}

TEST(Quantize, WeightsOfConvsArePackedAsTheirMatrix) {
  const Graph g = packed_convolutions({.to = "mxint8", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(to_string(g.type(g.find_constant("dense"))), "mxint8[4,36]");
  EXPECT_EQ(to_string(g.type(g.find_constant("depthwise"))), "mxint8[4,9]");
  EXPECT_EQ(to_string(g.type(g.find_constant("shared"))), "mxint8[4,4,1,1]");
  for (NodeId conv : g.nodes("conv"))
    if (g.type(g.operand(conv, 1)).rank() == 2) {
      EXPECT_EQ(g.node(conv).attributes.get<std::vector<int64_t>>("kernel_shape"), (std::vector<int64_t>{3, 3}));
    }
  test::expect_same_outputs(convolutions(), g, 0x1p-5);  // of weights within 2^-7 of their block's largest
  const Graph prepared = prepare_for_codegen(g, Compute::f32, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_TRUE(prepared.type(prepared.find_constant("dense")).is_packed());
  EXPECT_FALSE(prepared.type(prepared.find_constant("depthwise")).is_packed());
  test::expect_same_outputs(g, prepared, 0x1p-18);
}

TEST(Quantize, WeightsOfConvsKeepTheirShapeInPlainTypes) {
  const Graph g = packed_convolutions({.to = "fp16", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(to_string(g.type(g.find_constant("dense"))), "f16[4,4,3,3]");
}

TEST(PlanQuantisation, TheDefaultKeepsWindowsThatItsBlocksWouldMakeLarger) {
  const auto after = [](const QuantizeOptions& options) {
    std::map<std::string, QuantizeChoice> choices;
    for (QuantizeChoice& choice : plan_quantisation(convolutions(), options)) choices[choice.name] = choice;
    return choices;
  };
  auto by_default = after({.to = "int8.g128", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(by_default["dense"].after, "int8.g128");  // 132 bytes a row instead of 144
  EXPECT_EQ(by_default["depthwise"].after, "fp32");
  EXPECT_EQ(by_default["depthwise"].decided_by, "kept: larger as int8.g128");
  EXPECT_EQ(by_default["depthwise"].shape, (std::vector<int64_t>{4, 1, 3, 3}));
  EXPECT_EQ(after({.to = "", .rule = {"depthwise=int8.g128"}, .skip = {}, .activations = ""})["depthwise"].after,
            "int8.g128");
}

TEST(Quantize, ActivationsAreRoundedOncePerValue) {
  const Graph g = run_pass(test::parse(R"(
    %x : f32[B,2] = input
    %w : f32[2,2] = const "w" {1, 2, 3, 4}
    %a = linear %x, %w
    %b = linear %x, %w
    %c = add %a, %b
    return %c)"),
                           "quantize", {QuantizeOptions{"", {}, {}, "int8"}});
  verify(g);
  ASSERT_EQ(g.nodes("fake_quant").size(), 1u);
  for (NodeId id : g.nodes("linear")) EXPECT_EQ(g.operand(id, 0), g.result(g.nodes("fake_quant")[0]));
}

TEST(Quantize, NeedsItsOptions) { EXPECT_THROW(run_pass(model(), "quantize"), Bug); }

}  // namespace
}  // namespace hone
