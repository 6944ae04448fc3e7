#include "passes/quantize.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "passes/nonfinite.h"
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
  const QuantisationPlan plan = plan_quantisation(model(), options);
  for (const QuantizeChoice& choice : plan.constants) choices[choice.name] = choice;
  for (const QuantizeChoice& choice : plan.activations) choices[choice.name] = choice;
  return choices;
}

Graph quantized(const QuantizeOptions& options) {
  return run_pass(model(), "quantize", {options}, {.disabled = {}, .verify = true, .after = {}});
}

TEST(PlanQuantisation, DefaultTakesWeightsAndTablesAndKeepsBiasesAndNorms) {
  auto choices = plan({.to = "mxint8", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(choices.size(), 6u + 2);
  for (const char* name : {"emb.weight", "layer.0.dense.weight", "layer.1.dense.weight"}) {
    EXPECT_EQ(choices[name].after, "mxint8") << name;
    EXPECT_EQ(choices[name].before, "fp32");
    EXPECT_EQ(choices[name].decided_by, "to mxint8");
  }
  for (const char* name : {"ln.weight", "ln.bias", "layer.0.dense.bias", "layer.0.dense.in", "layer.1.dense.in"}) {
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
           {"layer.7=mxint8", "matches nothing; there are 3 such names, e.g. emb.weight"},
           {"bias=mxint8", "give its exact name: name:ln.bias"},
           {"op:conv=mxint8", "no weight of an op conv; ops that have one: gather, linear"},
           {"op:linaer=mxint8", "Did you mean linear"},
           {"layer", "expected address=format"},
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
       plan_quantisation(g, {.to = "mxint4", .rule = {}, .skip = {}, .activations = ""}).constants) {
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
  test::expect_same_outputs(g, prepared, 0x1p-18);
}

TEST(Quantize, WeightsOfConvsKeepTheirShapeInPlainTypes) {
  const Graph g = packed_convolutions({.to = "fp16", .rule = {}, .skip = {}, .activations = ""});
  EXPECT_EQ(to_string(g.type(g.find_constant("dense"))), "f16[4,4,3,3]");
}

TEST(PlanQuantisation, TheDefaultKeepsWindowsThatItsBlocksWouldMakeLarger) {
  const auto after = [](const QuantizeOptions& options) {
    std::map<std::string, QuantizeChoice> choices;
    for (QuantizeChoice& choice : plan_quantisation(convolutions(), options).constants) choices[choice.name] = choice;
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

QuantizeOptions with_rules(std::vector<std::string> rules) {
  QuantizeOptions options;
  options.rule = std::move(rules);
  return options;
}

TEST(PlanQuantisation, InputsAndBiasesOfLayersHaveAddresses) {
  auto choices = plan(with_rules({"layer\\.\\d\\..*\\.in=int8", "op:linear.bias=fp16", "name:layer.1.dense.in=mxint8",
                                  "op:linear.weight=mxint4"}));
  EXPECT_EQ(choices["layer.0.dense.in"].after, "int8");
  EXPECT_EQ(choices["layer.1.dense.in"].after, "mxint8");
  EXPECT_EQ(choices["layer.1.dense.in"].overridden, (std::vector<std::string>{"layer\\.\\d\\..*\\.in=int8"}));
  EXPECT_EQ(choices["layer.0.dense.bias"].after, "fp16");
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "mxint4");
  EXPECT_EQ(choices["emb.weight"].after, "fp32");
  EXPECT_EQ(choices["ln.bias"].after, "fp32");  // no layer's
  EXPECT_EQ(plan(with_rules({".*\\.bias$=int8"}))["layer.0.dense.bias"].after, "int8");
}

TEST(PlanQuantisation, ExpressionsWithoutAPartAreAboutWeightsAlone) {
  auto choices = plan(with_rules({".*=mxint8"}));
  EXPECT_EQ(choices["layer.0.dense.weight"].after, "mxint8");
  EXPECT_EQ(choices["layer.0.dense.in"].after, "fp32");
  EXPECT_EQ(choices["layer.0.dense.bias"].after, "fp32");
}

TEST(PlanQuantisation, FormatsMayEndInWhatIsAFormatItself) {
  EXPECT_EQ(plan(with_rules({"layer.0=int4.g32.s=bf16"}))["layer.0.dense.weight"].after, "int4.g32.s=bf16");
  EXPECT_EQ(plan(with_rules({"layer.(?=0)0=bf16"}))["layer.0.dense.weight"].after, "bf16");
}

TEST(PlanQuantisation, ActivationsIsTheDefaultOfInputsAndRulesAndSkipsWinOverIt) {
  QuantizeOptions options = with_rules({"layer.0.*\\.in=int4"});
  options.activations = "int8";
  EXPECT_EQ(plan(options)["layer.0.dense.in"].after, "int4");
  EXPECT_EQ(plan(options)["layer.1.dense.in"].after, "int8");
  EXPECT_EQ(plan(options)["layer.1.dense.in"].decided_by, "activations int8");
  options.skip = {"layer.1.*\\.in"};
  EXPECT_EQ(plan(options)["layer.1.dense.in"].after, "fp32");
}

TEST(PlanQuantisation, AllNamesThatTheModelDoesNotHaveAreInOneError) {
  const std::string message = error_of([] {
    plan(with_rules({"name:layer.0.dens.weight=mxint8", "name:layer.0.dense.weight=mxint8",
                     "name:layer.9.dense.in=int8", "name:completely.different=int8"}));
  });
  for (const char* part : {"3 rules give names that the model does not have; are they for another model?",
                           "name:layer.0.dens.weight=mxint8", "Did you mean layer.0.dense.weight",
                           "name:layer.9.dense.in=int8", "Did you mean layer.0.dense.in", "name:completely.different"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  EXPECT_EQ(message.find("name:layer.0.dense.weight=mxint8"), std::string::npos) << message;
}

TEST(PlanQuantisation, RefusesInputsAndBiasesThatAreNot) {
  EXPECT_NE(
      error_of([] { plan(with_rules({"op:conv.in=int8"})); }).find("no input of an op conv; ops that have one: linear"),
      std::string::npos);
  EXPECT_NE(error_of([] {
              plan(with_rules({"op:gather.bias=int8"}));
            }).find("no bias of an op gather; ops that have one: linear"),
            std::string::npos);
  EXPECT_NE(error_of([] { plan(with_rules({"pooler.*\\.in=int8"})); }).find("e.g. layer.0.dense.in"),
            std::string::npos);
  EXPECT_NE(error_of([] { plan(with_rules({"op:linear.in=int8.channel.ax3"})); }).find("layer.0.dense.in of shape"),
            std::string::npos);
}

TEST(Quantize, InputsAreRoundedAsByHand) {
  const Graph g =
      run_pass(model(), "quantize", {with_rules({"name:layer.0.dense.in=int8", "name:layer.1.dense.in=mxint4"})});
  const Graph by_hand = test::parse(R"(
    %ids : i64[B,S] = input
    %table : f32[5,4] = const "emb.weight" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
    %x = gather %table, %ids
    %g : f32[4] = const "ln.weight" {1, 2, 3, 4}
    %h : f32[4] = const "ln.bias" {0.1, 0.2, 0.3, 0.4}
    %n = layer_norm %x, %g, %h
    %q = fake_quant %n {format=int8}
    %w0 : f32[2,4] = const "layer.0.dense.weight" {1, -1, 0.3, 0.7, 0.11, 0.21, 0.31, 0.41}
    %b0 : f32[2] = const "layer.0.dense.bias" {0.1, 0.7}
    %a = linear %q, %w0, %b0
    %r = fake_quant %a {format=mxint4}
    %w1 : f32[3,2] = const "layer.1.dense.weight" {0.13, -0.4, 0.3, 0.7, 0.11, 0.21}
    %y = linear %r, %w1
    return %y)");
  test::expect_same_outputs(by_hand, g, 0);
  EXPECT_EQ(g.nodes("fake_quant").size(), 2u);
}

TEST(Quantize, LayersWithoutWeightsHaveTheNameOfTheirResult) {
  const Graph before = test::parse(R"(
    %x : f32[B,2,4] = input
    %y : f32[B,4,3] = input
    %scores = matmul %x, %y
    return %scores)");
  const Graph g = run_pass(before, "quantize", {with_rules({"name:scores.in=int8"})});
  const NodeId matmul = g.nodes("matmul")[0];
  for (int i : {0, 1}) EXPECT_STREQ(g.producer_op(g.operand(matmul, i))->name, "fake_quant");
  EXPECT_NE(
      error_of([&] { plan_quantisation(before, with_rules({"name:socres.in=int8"})); }).find("Did you mean scores.in"),
      std::string::npos);
}

TEST(Quantize, InputsThatAreRoundedAlreadyAreRoundedAnewFromWhatTheyWere) {
  const Graph eight = quantized(with_rules({"op:linear.in=int8"}));
  const Graph four = run_pass(eight, "quantize", {with_rules({"name:layer.0.dense.in=int4"})});
  verify(four);
  EXPECT_EQ(plan_quantisation(eight, with_rules({"op:linear.in=int8"})).activations[0].before, "int8");
  const Graph at_once = quantized(with_rules({"op:linear.in=int8", "name:layer.0.dense.in=int4"}));
  EXPECT_EQ(four.nodes("fake_quant").size(), 2u);
  test::expect_same_outputs(at_once, four, 0);
  EXPECT_EQ(print(run_pass(four, "quantize", {with_rules({"name:layer.0.dense.in=int4"})})), print(four));
}

TEST(Quantize, BiasesArePackedAndDecodedForKernels) {
  const Graph simulated = quantized(with_rules({"op:linear.bias=mxint8"}));
  const Graph packed = run_pass(simulated, "fold_fake_quant", {}, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_EQ(to_string(packed.type(packed.find_constant("layer.0.dense.bias"))), "mxint8[2]");
  test::expect_same_outputs(simulated, packed, 0);
  const Graph prepared = prepare_for_codegen(packed, Compute::f32, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_EQ(to_string(prepared.type(prepared.find_constant("layer.0.dense.bias"))), "f32[2]");
  test::expect_same_outputs(packed, prepared, 0x1p-20);
}

TEST(Quantize, FormatsThatOnlyReproduceValuesLeavePlainOnesByEveryMethod) {
  for (const char* method : {"nearest", "scale-search"}) {
    QuantizeOptions options = with_rules({"name:layer.0.dense.weight=minifloat_e4m3.compat=mase"});
    options.method = method;
    const Graph g = quantise(model(), options);
    const Tensor& weight = *g.constant(g.find_constant("layer.0.dense.weight"));
    EXPECT_FALSE(weight.is_packed());
    EXPECT_EQ(weight.to_floats()[2], 0.3125f);  // 0.3, with three bits of mantissa
  }
}

Graph with_values_that_are_not_finite() {
  return test::parse(R"(
    %x : f32[B,2] = input
    %w : f32[3,2] = const "bad.weight" {nan, -inf, 2, inf, -4, 1}
    %v : f32[3,3] = const "good.weight" {1, 2, 3, 4, 5, 6, 7, 8, 9}
    %y = linear %x, %w
    %z = linear %y, %v
    return %z)");
}

TEST(RepairNonfinite, RefusesWithNamesAndCountsByDefault) {
  QuantizeOptions options = with_rules({"op:linear=mxint8"});
  const std::string message =
      error_of([&] { run_pass(with_values_that_are_not_finite(), "repair_nonfinite", {options}); });
  EXPECT_NE(message.find("bad.weight: 1 NaN and 2 infinite of 6 values"), std::string::npos) << message;
  EXPECT_EQ(message.find("good.weight"), std::string::npos);
  options.skip = {"bad"};
  EXPECT_EQ(error_of([&] { run_pass(with_values_that_are_not_finite(), "repair_nonfinite", {options}); }), "");
}

TEST(RepairNonfinite, SaturatesToTheLargestFiniteMagnitudeOrKeeps) {
  QuantizeOptions options = with_rules({"op:linear=mxint8"});
  options.on_nonfinite = "saturate";
  const Graph repaired = run_pass(with_values_that_are_not_finite(), "repair_nonfinite", {options});
  EXPECT_EQ(repaired.constant(repaired.find_constant("bad.weight"))->to_floats(),
            (std::vector<float>{0, -4, 2, 4, -4, 1}));
  options.on_nonfinite = "keep";
  const Graph kept = quantise(with_values_that_are_not_finite(), options);
  const std::vector<float> values = kept.constant(kept.find_constant("bad.weight"))->to_floats();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[3]));  // their blocks, which are rows here
  EXPECT_EQ(values[4], -4);
  EXPECT_NE(error_of([] { parse_on_nonfinite("ignore"); }).find("accepted: error, saturate, keep"), std::string::npos);
}

TEST(QuantisePipeline, RefusesPassesThatNeedDataWithoutThem) {
  QuantizeOptions options = with_rules({"op:linear=mxint8"});
  options.awq_scaling = true;
  EXPECT_NE(error_of([&] { quantise(model(), options); }).find("awq-scaling needs calibration data"),
            std::string::npos);
}

TEST(QuantisePipeline, GathersStatisticsOfTheGraphThatEachPassFinds) {
  QuantizeOptions options = with_rules({"op:linear=mxint8", "op:linear.in=int8"});
  options.smooth_quant = options.awq_scaling = true;
  std::vector<std::pair<std::string, bool>> seen;
  quantise(model(), options, [&](const Graph& graph, bool moments) {
    seen.emplace_back(print(graph), moments);
    return Statistics();
  });
  const std::string before = print(model());
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, bool>>{{before, false}, {before, true}}));
}

TEST(Quantize, NeedsItsOptions) { EXPECT_THROW(run_pass(model(), "quantize"), Bug); }

}  // namespace
}  // namespace hone
