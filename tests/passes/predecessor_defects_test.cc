// What the predecessor got wrong at the level of layers and configurations: each test shows the sound behaviour.
#include <gtest/gtest.h>

#include <sstream>

#include "passes/pipelines.h"
#include "passes/weight_matrix.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

using test::error_of;

QuantizeOptions with_rules(std::vector<std::string> rules) {
  QuantizeOptions options;
  options.rule = std::move(rules);
  return options;
}

const Tensor& constant(const Graph& graph, const char* label) {
  const ValueId found = graph.find_constant(label);
  CHECK(found != kNone, "{} is gone", label);
  return *graph.constant(found);
}

// A conv with bias, a batch_norm that can't be folded into it, a relu, a linear with bias and one without.
Graph model() {
  return test::parse(R"(
    %x : f32[B,2,3,3] = input
    %w : f32[2,2,3,3] = const "conv.weight" {0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9, 1.1, 1.2, -1.3, 1.4, 1.5,
      1.6, -1.7, 1.8, 1.9, 2.1, 2.2, -2.3, 2.4, 2.5, 2.6, -2.7, 2.8, 2.9, 3.1, 3.2, -3.3, 3.4, 3.5, 3.6, -3.7, 3.8, 3.9}
    %b : f32[2] = const "conv.bias" {0.3, -0.7}
    %c = conv %x, %w, %b
    %s : f32[2] = const "bn.weight" {1.1, 0.9}
    %t : f32[2] = const "bn.bias" {0.2, -0.1}
    %m : f32[2] = const "bn.running_mean" {0.5, 1.5}
    %v : f32[2] = const "bn.running_var" {2.5, 0.7}
    %r = relu %c
    %n = batch_norm %r, %s, %t, %m, %v
    %f = flatten %n
    %w1 : f32[3,2] = const "fc.weight" {0.13, -0.4, 0.3, 0.7, 0.11, 0.21}
    %b1 : f32[3] = const "fc.bias" {0.31, 0.21, -0.11}
    %g = linear %f, %w1, %b1
    %w2 : f32[2,3] = const "head.weight" {0.5, -0.4, 0.3, 0.7, 0.12, 0.2}
    %y = linear %g, %w2
    return %y)");
}

// conv1d and conv2d copied the weight twice and left a random bias; linears were given one where they had none.
TEST(PredecessorDefects, EveryLayerKeepsItsOwnBiasAndNoneIsMadeUp) {
  const Graph before = model(), after = quantize(before, with_rules({".*=mxint8"}));
  for (const char* label : {"conv.bias", "fc.bias"})
    EXPECT_TRUE(constant(after, label).same_bits(constant(before, label))) << label;
  EXPECT_EQ(after.operand(after.nodes("conv")[0], 2), after.find_constant("conv.bias"));
  EXPECT_EQ(after.node(after.nodes("linear")[1]).operands.size(), 2u);
}

// Running statistics and the weights of norms were not copied.
TEST(PredecessorDefects, NormsKeepTheirStatisticsAndWeights) {
  const Graph before = model(), after = quantize(before, with_rules({".*=int8.channel"}));
  for (const char* label : {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"})
    EXPECT_TRUE(constant(after, label).same_bits(constant(before, label))) << label;
}

// A norm with a weight was refused.
TEST(PredecessorDefects, WeightsOfNormsCanBeQuantizedByTheirName) {
  const Graph after = quantize(model(), with_rules({"name:bn.weight=int8"}));
  EXPECT_EQ(to_string(constant(after, "bn.weight").type()), "int8[2]");
}

// Binary layers quantized weights alone whatever the configuration said; other layers needed all three operands.
TEST(PredecessorDefects, InputWeightAndBiasAreRoundedEachByItself) {
  const Graph all = quantize(model(), with_rules({"name:fc.in=int8", "name:fc.weight=mxint8", "name:fc.bias=int8.f4"}));
  EXPECT_STREQ(all.producer_op(all.operand(all.nodes("linear")[0], 0))->name, "fake_quant");
  EXPECT_EQ(to_string(constant(all, "fc.weight").type()), "mxint8[3,2]");
  EXPECT_EQ(constant(all, "fc.bias").to_floats(), (std::vector<float>{0.3125f, 0.1875f, -0.125f}));
  const Graph bias_alone = quantize(model(), with_rules({"name:fc.bias=int8.f4"}));
  EXPECT_TRUE(bias_alone.nodes("fake_quant").empty());
  EXPECT_FALSE(constant(bias_alone, "fc.weight").is_packed());
}

// MX formats of the second operand of a matmul had their blocks across the sums.
TEST(PredecessorDefects, BlocksLieAlongTheSumsOfAMatmul) {
  const Graph graph = test::parse(R"(
    %a : f32[B,3,64] = input
    %b : f32[B,64,5] = input
    %y = matmul %a, %b
    return %y)");
  const Graph by_hand = test::parse(R"(
    %a : f32[B,3,64] = input
    %b : f32[B,64,5] = input
    %p = fake_quant %a {format=mxint4}
    %rows = transpose %b {perm=[0,2,1]}
    %q = fake_quant %rows {format=mxint4}
    %y = matmul %p, %q {transpose_b=1}
    return %y)");
  test::expect_same_outputs(by_hand, run_pass(graph, "quantize", {FormatRules(with_rules({"name:y.in=mxint4"}))}), 0);
}

// Formats were missing from tables: MXINT and MXFP from the graph parser's, binary and ternary from what linears took.
TEST(PredecessorDefects, EveryFormatQuantizesConvsAndLinears) {
  for (const FormatDef* def : formats::all()) {
    std::istringstream examples(def->examples);
    for (std::string format; examples >> format;) {
      SCOPED_TRACE(format);
      const Graph after = quantize(model(), with_rules({"op:conv=" + format, "op:linear=" + format}));
      verify(after);
      const Tensor plain = weight_matrix(constant(model(), "conv.weight")).value();
      std::vector<float> rounded(static_cast<size_t>(plain.elements()));
      fake_quantize(parse_format(format), plain.shape(), plain.to_floats(), rounded);
      const Tensor& conv = constant(after, "conv.weight");
      EXPECT_EQ((conv.shape().size() == 2 ? conv : weight_matrix(conv).value()).to_floats(), rounded);
    }
  }
}

// Mistyped keys were ignored.
TEST(PredecessorDefects, MistypedKeysAndNamesAreErrors) {
  QuantizeOptions options;
  EXPECT_NE(error_of([&] {
              set_option(quantize_fields(), options, "activation", {"int8"});
            }).find("Did you mean activations"),
            std::string::npos);
  EXPECT_THROW(set_option(quantize_fields(), options, "to", {"mxint8.b32"}), FormatError);
  EXPECT_NE(error_of([&] { quantize(model(), with_rules({"op:linear.bais=int8"})); }).find("Did you mean linear"),
            std::string::npos);
  EXPECT_NE(error_of([&] { quantize(model(), with_rules({"name:fc.weigth=int8"})); }).find("Did you mean fc.weight"),
            std::string::npos);
}

// One graph was quantized in place: what one trial had quantized stayed so in the next. Options were changed by use.
TEST(PredecessorDefects, ModelsAndOptionsAreNotChangedByUse) {
  const Graph graph = model();
  const std::string before = print(graph);
  const QuantizeOptions options = with_rules({"op:linear=mxint4", "op:linear.in=int8"});
  const Graph first = quantize(graph, options);
  EXPECT_EQ(print(graph), before);
  EXPECT_EQ(print(quantize(graph, options)), print(first));
  const Graph other = quantize(graph, with_rules({"op:conv=int8"}));
  EXPECT_FALSE(constant(other, "fc.weight").is_packed());
  EXPECT_EQ(options.rule, (std::vector<std::string>{"op:linear=mxint4", "op:linear.in=int8"}));
}

double average_bits(const Graph& graph) {
  const Sizes all = sizes(graph);
  return 8.0 * static_cast<double>(all.weight_bytes) / static_cast<double>(all.parameters);
}

// (8,4) integers counted 12 bits, layers that were kept counted nothing, scales nothing; block formats raised an error.
TEST(PredecessorDefects, AverageBitsAreWhatIsStored) {
  constexpr double kElements = 36 + 2 + 4 * 2 + 6 + 3 + 6;  // 13 of them biases and norms
  EXPECT_DOUBLE_EQ(average_bits(model()), 32);
  EXPECT_DOUBLE_EQ(average_bits(quantize(model(), with_rules({".*=int8.f4"}))), (48 * 8 + 13 * 32) / kElements);
  EXPECT_DOUBLE_EQ(average_bits(quantize(model(), with_rules({"name:fc.weight=int8.f4"}))),
                   (6 * 8 + 55 * 32) / kElements);
  // One scale of 32 bits for each of the three rows.
  EXPECT_DOUBLE_EQ(average_bits(quantize(model(), with_rules({"name:fc.weight=int8.channel"}))),
                   (6 * 8 + 3 * 32 + 55 * 32) / kElements);
  // A row of two is padded to a block of 32 codes of 8 bits, and has a scale of 8.
  EXPECT_DOUBLE_EQ(average_bits(quantize(model(), with_rules({"name:fc.weight=mxint8"}))),
                   (3 * (32 * 8 + 8) + 55 * 32) / kElements);
  EXPECT_DOUBLE_EQ(average_bits(quantize(model(), with_rules({"name:fc.bias=minifloat_e4m3"}))),
                   (3 * 8 + 58 * 32) / kElements);
}

}  // namespace
}  // namespace hone
