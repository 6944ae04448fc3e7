// Products of codes have the bits that docs/FORMATS.md, section 11, defines.
#include <gtest/gtest.h>

#include "ops/calls/block_linear.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/integer_products.h"
#include "ops/calls/linear.h"
#include "ops/calls/quantize_linear.h"
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
bool is_block_product(const Graph& graph) { return !rewritten(graph).nodes(block_linear_def).empty(); }

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

// The definition, written out: codes of x and their scales, one for each `block` of a row (empty: `last` alone), by w.
std::vector<float> defined_by_blocks(const Tensor& x, const std::vector<float>& steps, int64_t block, float last,
                                     const Tensor& w, const std::vector<float>& bias) {
  const std::vector<int64_t> qx = x.to_integers();
  const Format& format = *w.format();
  const std::vector<uint32_t> codes = codes_of(format, w.shape(), w.planes());
  const std::vector<double> scales = scale_values(format, scale_codes_of(format, w.shape(), w.planes()));
  const int64_t n = w.dim(0), k = w.dim(1), m = x.elements() / k, group = format.geometry.columns;
  std::vector<float> y;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t begin = 0; begin < k; begin += block) {
        int64_t products = 0;
        for (int64_t l = begin; l < std::min(k, begin + block); ++l) {
          int64_t code = codes[static_cast<size_t>(j * k + l)];
          if (code >= int64_t{1} << (format.element.bits - 1)) code -= int64_t{1} << format.element.bits;
          products += qx[static_cast<size_t>(i * k + l)] * code;
        }
        float step = static_cast<float>(std::ldexp(
            scales[static_cast<size_t>(j * ((k + group - 1) / group) + begin / group)], -format.element.fraction_bits));
        if (!steps.empty()) step *= steps[static_cast<size_t>(i * ((k + block - 1) / block) + begin / block)];
        sum = std::fma(static_cast<float>(products), step, sum);
      }
      y.push_back((steps.empty() ? sum * last : sum) + bias[static_cast<size_t>(j)]);
    }
  return y;
}

TEST(IntegerProducts, OfBlocksAreAsDefined) {
  for (const char* weights : {"mxint8", "mxint4", "int4.g64", "int8.g32.s=bf16"}) {
    SCOPED_TRACE(weights);
    const Model model({2, 3, 70}, "mxint8", weights);
    const Tensor x = pack(parse_format("mxint8"), model.inputs.at("x"));
    std::vector<float> steps;
    for (double scale : scale_values(*x.format(), scale_codes_of(*x.format(), x.shape(), x.planes())))
      steps.push_back(static_cast<float>(scale / 64));
    std::vector<int8_t> codes;
    for (uint32_t code : codes_of(*x.format(), x.shape(), x.planes())) codes.push_back(static_cast<int8_t>(code));
    EXPECT_EQ(evaluate(rewritten(model.graph), model.inputs)[0].to_floats(),
              defined_by_blocks(Tensor::of<int8_t>({6, 70}, codes), steps, 32, 0, model.w, model.bias().to_floats()));
  }
  for (const char* weights : {"mxint8", "int4.g128", "int8.g32", "int4.g32.s=fp16"}) {
    SCOPED_TRACE(weights);
    const Model model({2, 3, 70}, "int8", weights);
    const Tensor x = pack(parse_format("int8"), model.inputs.at("x"));
    const int64_t group = model.w.format()->geometry.columns;
    EXPECT_EQ(evaluate(rewritten(model.graph), model.inputs)[0].to_floats(),
              defined_by_blocks(Tensor(DType::i8, {6, 70}, x.data()), {}, group,
                                Tensor(DType::f32, {}, x.scales()).to_floats()[0], model.w, model.bias().to_floats()));
  }
}

TEST(IntegerProducts, ABlockWithANumberThatIsNotFiniteMakesItsRowNaN) {
  for (const char* activations : {"mxint8", "int8.g1x0"}) {
    Model model({2, 64}, activations, "mxint8");
    model.inputs["x"].mutable_as<float>()[40] = std::numeric_limits<float>::infinity();
    const std::vector<float> y = evaluate(rewritten(model.graph), model.inputs)[0].to_floats();
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i < 9) << i;
  }
}

TEST(IntegerProducts, WhatIsNoProductOfBlocksStays) {
  for (const char* activations : {"mxint8", "mxint8.g16", "mxint8.rule=rceil", "bfp8", "int8", "int8.g1x0"})
    EXPECT_TRUE(is_block_product(Model({2, 64}, activations, "mxint8").graph)) << activations;
  for (const char* activations : {"mxint4", "mxint8.g64", "mxint8.ax0", "bfp8.e5", "mxfp8_e4m3", "uint8", "uint8.asym"})
    EXPECT_FALSE(is_block_product(Model({2, 64}, activations, "mxint8").graph)) << activations;
  for (const char* weights : {"int8.channel", "int8", "uint8.g32", "int4.g128", "mxint4.g64", "bfp6.g32"})
    EXPECT_TRUE(is_block_product(Model({2, 64}, "mxint8", weights).graph)) << weights;
  for (const char* weights : {"mxint8.g48", "mxfp4", "int8.g32.ax0", "int8.channel.ax1", "uint4.g32.asym", "int12.g32",
                              "int8.g2", "bfp8.e5.g32", "mxint8.g16"})
    EXPECT_FALSE(is_block_product(Model({2, 64}, "mxint8", weights).graph)) << weights;
  EXPECT_TRUE(is_block_product(Model({64}, "mxint8", "mxint8").graph));
  EXPECT_FALSE(is_block_product(Model({2, 64}, "int8", "int8.g2").graph)) << "no lanes";
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
