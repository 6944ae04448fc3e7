#include "passes/compress/quantize.h"

#include <gtest/gtest.h>

#include "passes/pipelines.h"
#include "tests/passes/quantized_graphs.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

using test::convolutions;
using test::error_of;
using test::two_layers;
using test::with_rules;

Graph quantized(const FormatRules& options) {
  return run_pass(two_layers(), "quantize", {options}, {.disabled = {}, .verify = true, .after = {}});
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

// A constant is packed by a scale that is given; of an input a known step of fixed point becomes its format, and
// another scale stays an operand.
TEST(Quantize, FoldingPacksByScalesThatAreGiven) {
  const Graph graph = test::parse(R"(
    %x : f32[B,2] = input "x"
    %step : f32[] = const "step" {0.26}
    %a = fake_quant %x, %step {format=int4.f0}
    %s : f32[] = const "s" {0.125}
    %b = fake_quant %a, %s {format=int8}
    %w : f32[2,2] = const "w" {1, 0.5, -0.3, 2}
    %scales : f32[2,1] = const "scales" {0.25, 0.5}
    %q = fake_quant %w, %scales {format=int4.channel}
    %y = linear %b, %q
    return %y as "y")");
  const Graph packed = run_pass(graph, "fold_fake_quant", {}, {.disabled = {}, .verify = true, .after = {}});
  ASSERT_EQ(packed.nodes("fake_quant").size(), 2u);
  const Node &a = packed.node(packed.nodes("fake_quant")[0]), &b = packed.node(packed.nodes("fake_quant")[1]);
  EXPECT_EQ(to_string(a.attributes.get<Format>("format")), "int4.f2");
  EXPECT_EQ(a.operands.size(), 1u);
  EXPECT_EQ(b.operands.size(), 2u);
  const Tensor& w = *packed.constant(packed.find_constant("w"));
  EXPECT_EQ(to_string(*w.format()), "int4.channel");
  EXPECT_EQ(w.to_floats(), (std::vector<float>{1, 0.5f, -0.5f, 2}));
  test::expect_same_outputs(graph, packed, 0);
  const Graph expanded = run_pass(graph, "expand_fake_quant", {}, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_TRUE(expanded.nodes("fake_quant").empty());
  test::expect_same_outputs(graph, expanded, 0);
}

// A view of packed memory would be its codes.
TEST(UnpackValues, ViewsArePlain) {
  Graph graph = test::parse(R"(
    %x : f32[B,2] = input "x"
    %w : f32[2,2] = const "w" {1, 0.5, -0.25, 0.75}
    %q = fake_quant %w {format=int4}
    %b = barrier %q
    %y = matmul %x, %b
    return %y as "y")");
  graph = run_pass(graph, "fold_fake_quant");
  const Graph plain = run_pass(graph, "unpack_values", {}, {.disabled = {}, .verify = true, .after = {}});
  EXPECT_EQ(plain.nodes("dequantize").size(), 1u);
  EXPECT_FALSE(plain.type(plain.node(plain.nodes("barrier")[0]).operands[0]).is_packed());
  test::expect_same_outputs(graph, plain, 0);
}

TEST(Quantize, PackedModelsCanBePackedAgain) {
  Graph g = run_pass(quantized({.to = "mxint8", .rule = {}, .skip = {}, .activations = ""}), "fold_fake_quant");
  for (const QuantizeChoice& choice :
       plan_quantization(g, {.to = "mxint4", .rule = {}, .skip = {}, .activations = ""}).constants) {
    const bool is_weight = choice.shape.size() == 2;
    EXPECT_EQ(choice.before, is_weight ? "mxint8" : "fp32") << choice.name;
    EXPECT_EQ(choice.after, is_weight ? "mxint4" : "fp32") << choice.name;
  }
  g = run_pass(run_pass(std::move(g), "quantize", {FormatRules{"mxint4", {}, {}, ""}}), "fold_fake_quant");
  verify(g);
  EXPECT_EQ(to_string(g.type(g.find_constant("layer.1.dense.weight"))), "mxint4[3,2]");
}

Graph packed_convolutions(const FormatRules& options) {
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

TEST(Quantize, ActivationsAreRoundedOncePerValue) {
  const Graph g = run_pass(test::parse(R"(
    %x : f32[B,2] = input
    %w : f32[2,2] = const "w" {1, 2, 3, 4}
    %a = linear %x, %w
    %b = linear %x, %w
    %c = add %a, %b
    return %c)"),
                           "quantize", {FormatRules{"", {}, {}, "int8"}});
  verify(g);
  ASSERT_EQ(g.nodes("fake_quant").size(), 1u);
  for (NodeId id : g.nodes("linear")) EXPECT_EQ(g.operand(id, 0), g.result(g.nodes("fake_quant")[0]));
}

TEST(Quantize, InputsAreRoundedAsByHand) {
  const Graph g =
      run_pass(two_layers(), "quantize", {with_rules({"name:layer.0.dense.in=int8", "name:layer.1.dense.in=mxint4"})});
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
      error_of([&] { plan_quantization(before, with_rules({"name:socres.in=int8"})); }).find("Did you mean scores.in"),
      std::string::npos);
}

TEST(Quantize, InputsThatAreRoundedAlreadyAreRoundedAnewFromWhatTheyWere) {
  const Graph eight = quantized(with_rules({"op:linear.in=int8"}));
  const Graph four = run_pass(eight, "quantize", {with_rules({"name:layer.0.dense.in=int4"})});
  verify(four);
  EXPECT_EQ(plan_quantization(eight, with_rules({"op:linear.in=int8"})).activations[0].before, "int8");
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
    QuantizeOptions options{with_rules({"name:layer.0.dense.weight=minifloat_e4m3.compat=mase"})};
    options.method = method;
    const Graph g = quantize(two_layers(), options);
    const Tensor& weight = *g.constant(g.find_constant("layer.0.dense.weight"));
    EXPECT_FALSE(weight.is_packed());
    EXPECT_EQ(weight.to_floats()[2], 0.3125f);  // 0.3, with three bits of mantissa
  }
}

TEST(Quantize, NeedsItsOptions) {
  EXPECT_NE(error_of([] { run_pass(two_layers(), "quantize"); }).find("nothing to quantize: give"), std::string::npos);
}

TEST(QuantizePipeline, RefusesPassesThatNeedDataWithoutThem) {
  QuantizeOptions options{with_rules({"op:linear=mxint8"})};
  options.awq_scaling = true;
  EXPECT_NE(error_of([&] { quantize(two_layers(), options); }).find("awq-scaling needs calibration data"),
            std::string::npos);
}

TEST(QuantizePipeline, GathersStatisticsOfTheGraphThatEachPassFinds) {
  QuantizeOptions options{with_rules({"op:linear=mxint8", "op:linear.in=int8"})};
  options.smooth_quant = options.awq_scaling = true;
  std::vector<std::pair<std::string, bool>> seen;
  quantize(two_layers(), options, [&](const Graph& graph, bool moments) {
    seen.emplace_back(print(graph), moments);
    return Statistics();
  });
  const std::string before = print(two_layers());
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, bool>>{{before, false}, {before, true}}));
}

}  // namespace
}  // namespace hone
