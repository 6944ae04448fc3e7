// Products of codes have the bits that docs/FORMATS.md, section 11, defines.
#include <gtest/gtest.h>

#include "ops/calls.h"
#include "ops/evaluate.h"
#include "passes/pipelines.h"
#include "tests/support/op_case.h"

namespace hone {
namespace {

struct Model {
  Graph graph;
  std::map<std::string, Tensor> inputs;
  Tensor w;  // packed

  Model(const Sizes64& x, const std::string& activations, const std::string& weights, std::optional<float> scale = {},
        std::optional<float> zero = {}) {
    Philox rng(1);
    inputs["x"] = random_floats(rng, x, DType::f32, -3, 5);
    w = random_packed(rng, {9, x.back()}, weights);
    const ValueId in = graph.add_input("x", inputs["x"].type());
    ops::FakeQuant rounded{.x = in, .format = parse_format(activations)};
    if (scale) rounded.scale = graph.add_scalar<float>(*scale);
    if (zero) rounded.zero_point = graph.add_scalar<float>(*zero);
    const ValueId codes = ops::fake_quant(graph, rounded);
    const ValueId y = ops::linear(graph, {.x = codes,
                                          .w = graph.add_constant("fc.weight", w),
                                          .b = graph.add_constant("fc.bias", random_floats(rng, {9}))});
    graph.add_output(y, "y");
  }

  Tensor bias() const { return *graph.constant(graph.find_constant("fc.bias")); }
};

Graph rewritten(const Graph& graph) {
  Graph after = run_pass(graph, "integer_products");
  verify(after);
  return run_pass(after, "remove_dead");
}

bool is_integer_product(const Graph& graph) { return !rewritten(graph).nodes(dequantize_sums_def).empty(); }

// The definition, written out. Scales and zero points of x: one, or one for each row.
std::vector<float> defined(const std::vector<int64_t>& x, const std::vector<float>& x_scales,
                           const std::vector<int64_t>& x_zeros, const Tensor& w, const Tensor& bias) {
  const std::vector<uint32_t> codes = codes_of(*w.format(), w.shape(), w.planes());
  const std::vector<double> w_scales = scale_values(*w.format(), scale_codes_of(*w.format(), w.shape(), w.planes()));
  const auto n = static_cast<size_t>(w.dim(0)), k = static_cast<size_t>(w.dim(1)), m = x.size() / k;
  const int bits = w.format()->element.bits;
  std::vector<float> y;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      int64_t sum = 0, of_weights = 0;
      for (size_t l = 0; l < k; ++l) {
        int64_t code = codes[j * k + l];
        if (w.format()->element.is_signed && code >= int64_t{1} << (bits - 1)) code -= int64_t{1} << bits;
        sum += x[i * k + l] * code, of_weights += code;
      }
      const auto of_row = [&](const auto& values) { return values[values.size() == 1 ? 0 : i]; };
      sum -= of_row(x_zeros) * of_weights;
      const float scale = of_row(x_scales) * static_cast<float>(w_scales[w_scales.size() == 1 ? 0 : j]);
      y.push_back(static_cast<float>(sum) * scale + bias.to_floats()[j]);
    }
  return y;
}

TEST(IntegerProducts, OfDynamicScalesAreAsDefined) {
  for (const char* activations : {"int8", "uint8", "uint8.asym", "int8.g1x0", "uint8.g1x0.asym"})
    for (const char* weights : {"int8.channel", "int8", "int4.channel", "int8.channel.s=bf16", "uint7", "int5"}) {
      SCOPED_TRACE(std::string(activations) + " by " + weights);
      const Model model({2, 3, 70}, activations, weights);
      const Graph after = rewritten(model.graph);
      EXPECT_EQ(after.nodes(dequantize_sums_def).size(), 1u);
      EXPECT_TRUE(after.nodes(fake_quant_def).empty());
      const Tensor x = pack(parse_format(activations), model.inputs.at("x"));
      const bool is_signed = x.format()->element.is_signed;
      std::vector<int64_t> codes, zeros;
      for (std::byte b : x.data().bytes())
        codes.push_back(is_signed ? static_cast<int8_t>(b) : static_cast<int64_t>(static_cast<uint8_t>(b)));
      for (std::byte b : x.zero_points().bytes()) zeros.push_back(static_cast<int64_t>(b));
      if (zeros.empty()) zeros = {0};
      const std::vector<double> scales = scale_values(*x.format(), scale_codes_of(*x.format(), x.shape(), x.planes()));
      EXPECT_EQ(evaluate(after, model.inputs)[0].to_floats(),
                defined(codes, {scales.begin(), scales.end()}, zeros, model.w, model.bias()));
    }
}

TEST(IntegerProducts, OfStaticScalesAreAsDefinedAndSaturate) {
  for (const auto& [format, scale, zero] : {std::tuple("int8", 0.03f, 0.0f),
                                            {"uint8", 0.01f, 0.0f},
                                            {"uint8.asym", 0.02f, 77.0f},
                                            {"uint8.asym", 0.02f, 300.4f}}) {
    SCOPED_TRACE(format);
    const bool has_zero = std::string_view(format).ends_with("asym");
    const Model model({4, 33}, format, "int8.channel", scale, has_zero ? std::optional(zero) : std::nullopt);
    const int64_t z = has_zero ? std::min<int64_t>(255, std::lround(zero)) : 0;
    const bool is_signed = std::string_view(format) == "int8";
    std::vector<int64_t> codes;
    int saturated = 0;
    for (float v : model.inputs.at("x").to_floats()) {
      const double code = std::nearbyint(v / scale) + static_cast<double>(z);
      codes.push_back(static_cast<int64_t>(std::clamp(code, is_signed ? -127.0 : 0.0, is_signed ? 127.0 : 255.0)));
      saturated += static_cast<double>(codes.back()) != code;
    }
    EXPECT_GT(saturated, 0);
    EXPECT_EQ(evaluate(rewritten(model.graph), model.inputs)[0].to_floats(),
              defined(codes, {scale}, {z}, model.w, model.bias()));
  }
}

TEST(IntegerProducts, AreTheProductsOfDecodedValuesButForARounding) {
  const Model model({5, 70}, "int8", "int8.channel");
  const std::vector<float> want = evaluate(model.graph, model.inputs)[0].to_floats(),
                           got = evaluate(rewritten(model.graph), model.inputs)[0].to_floats();
  int different = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-5) << i;
    different += got[i] != want[i];
  }
  EXPECT_GT(different, 0) << "the rounding shows";
}

TEST(IntegerProducts, AGroupWithANumberThatIsNotFiniteGivesNaNAlone) {
  Model model({2, 4}, "int8.g1x0", "int8.channel");
  model.inputs["x"].mutable_as<float>()[1] = std::numeric_limits<float>::infinity();
  const std::vector<float> y = evaluate(rewritten(model.graph), model.inputs)[0].to_floats();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i < 9) << i;
}

TEST(IntegerProducts, WhatIsNoIntegerProductStays) {
  EXPECT_TRUE(is_integer_product(Model({2, 64}, "int8", "int8.channel").graph));
  for (const char* activations : {"mxint8", "int4", "int16", "int8.g32", "int8.f4", "int8.channel", "int8.s=bf16"})
    EXPECT_FALSE(is_integer_product(Model({2, 64}, activations, "int8.channel").graph)) << activations;
  for (const char* weights :
       {"mxint8", "int8.g32", "int8.channel.ax1", "uint8", "uint8.channel.asym", "int12", "fp8_e4m3"})
    EXPECT_FALSE(is_integer_product(Model({2, 64}, "int8", weights).graph)) << weights;
  EXPECT_TRUE(is_integer_product(Model({1, 65536}, "int8", "int8.channel").graph));
  EXPECT_FALSE(is_integer_product(Model({1, 65540}, "int8", "int8.channel").graph)) << "sums might wrap";
  EXPECT_FALSE(is_integer_product(Model({64}, "int8.g1x0", "int8.channel").graph)) << "no rows";
  EXPECT_FALSE(is_integer_product(Model({2, 4}, "int8", "int8", std::numeric_limits<float>::infinity()).graph));
}

TEST(IntegerProducts, StoredCodesAreMultipliedAsTheyAre) {
  Philox rng(2);
  for (const auto& [dtype, zero] : {std::pair(DType::i8, 0), {DType::u8, 100}}) {
    Graph graph;
    const Tensor x = random_integers(rng, {3, 20}, dtype, 0, 120), w = random_packed(rng, {5, 20}, "int8.channel");
    const ValueId in = graph.add_input("x", x.type()), scale = graph.add_scalar<float>(0.1f);
    const ValueId z = dtype == DType::u8 ? graph.add_scalar<uint8_t>(static_cast<uint8_t>(zero)) : kNone;
    const ValueId values =
        ops::dequantize_linear(graph, {.x = in, .scale = scale, .zero_point = z, .dtype = DType::f32});
    graph.add_output(ops::linear(graph, {.x = values, .w = graph.add_constant("w", w)}), "y");
    const Graph after = rewritten(graph);
    EXPECT_TRUE(after.nodes(dequantize_linear_def).empty());
    const Tensor none = Tensor::of<float>({5}, std::vector<float>(5));
    EXPECT_EQ(evaluate(after, {{"x", x}})[0].to_floats(), defined(x.to_integers(), {0.1f}, {zero}, w, none));
  }
}

// What three layers read is quantized once.
TEST(IntegerProducts, LayersShareTheCodesOfTheirInput) {
  Philox rng(3);
  Graph graph;
  const ValueId x = graph.add_input("x", random_floats(rng, {2, 8}).type());
  const ValueId rounded = ops::fake_quant(graph, {.x = x, .format = parse_format("int8.g1x0")});
  for (const char* name : {"q", "k", "v"})
    graph.add_output(
        ops::linear(graph, {.x = rounded, .w = graph.add_constant(name, random_packed(rng, {8, 8}, "int8"))}), name);
  const Graph after = rewritten(graph);
  EXPECT_EQ(after.nodes(quantize_dynamic_def).size(), 1u);
  EXPECT_EQ(after.nodes(linear_def).size(), 3u);
}

}  // namespace
}  // namespace hone
