// Bias correction: after it, a rounded layer gives the same mean output as before.
#include "passes/compress/correct_bias.h"

#include <gtest/gtest.h>

#include "passes/compress/quantize.h"
#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

using test::error_of;

Graph model() {
  return test::parse(R"(
    %x : f32[2,4] = input "x"
    %w : f32[2,4] = const "a.weight" {1, -1, 0.3, 0.7, 0.11, 0.21, 0.31, 0.41}
    %b : f32[2] = const "a.bias" {0.5, -0.5}
    %h = linear %x, %w, %b
    %v : f32[3,2] = const "c.weight" {0.13, -0.4, 0.3, 0.7, 0.11, 0.21}
    %y = linear %h, %v
    return %h, %y)");
}

Statistics statistics() {
  Statistics s;
  s.layers["a.weight"] = {.vectors = 2, .width = 4, .groups = 1, .mean = {1, 2, -1, 0.5f}, .max_abs = {}, .moment = {}};
  s.layers["c.weight"] = {.vectors = 2, .width = 2, .groups = 1, .mean = {3, -2}, .max_abs = {}, .moment = {}};
  return s;
}

Graph rounded(const Graph& graph) {
  Graph result = graph;
  for (const char* label : {"a.weight", "c.weight"}) {
    const ValueId weight = result.find_constant(label);
    result.set_constant(weight, pack(parse_format("int3.channel"), *graph.constant(weight)));
  }
  result.reinfer();
  return result;
}

Graph corrected(Graph graph, const Graph& original, const Statistics& s) {
  return run_pass(std::move(graph), "correct_bias", {.statistics = &s, .exact = &original},
                  {.disabled = {}, .verify = true, .after = {}});
}

TEST(CorrectBias, TheMeanInputGivesWhatItGaveBefore) {
  const Graph before = model();
  const Statistics s = statistics();
  const Graph after = corrected(rounded(before), before, s);
  const auto output = [&](const Graph& graph, const char* weight, const char* bias) {
    const std::vector<float> w = graph.constant(graph.find_constant(weight))->to_floats();
    const ValueId b = graph.find_constant(bias);
    const std::vector<float>& mean = s.layers.at(weight).mean;
    std::vector<double> y = b == kNone ? std::vector<double>(w.size() / mean.size()) : graph.constant(b)->to_doubles();
    for (size_t i = 0; i < w.size(); ++i)
      y[i / mean.size()] += static_cast<double>(w[i]) * static_cast<double>(mean[i % mean.size()]);
    return y;
  };
  for (const auto& [weight, bias] : {std::pair("a.weight", "a.bias"), std::pair("c.weight", "c.bias")}) {
    const std::vector<double> was = output(before, weight, bias), is = output(after, weight, bias);
    ASSERT_EQ(was.size(), is.size());
    for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], was[i], 2 * 0x1p-24 * 4) << weight;  // |terms| < 4
  }
  EXPECT_NE(after.find_constant("c.bias"), kNone) << "a layer without a bias gets one";
}

TEST(CorrectBias, WindowsAreSummedInTheOrderOfTheMatrixAndByGroup) {
  const Tensor before = Tensor::of<float>({2, 2}, {1, 2, 3, 4}), after = Tensor::of<float>({2, 2}, {1, 1, 1, 4});
  const LayerStatistics s{.vectors = 1, .width = 2, .groups = 2, .mean = {10, 20, 30, 40}, .max_abs = {}, .moment = {}};
  EXPECT_EQ(corrected_bias(Tensor::of<float>({2}, {5, 6}), before, after, s).to_floats(), (std::vector<float>{25, 66}));
  EXPECT_EQ(corrected_bias(Tensor(DType::f32, {0}), before, after, s).to_floats(), (std::vector<float>{20, 60}));
}

TEST(CorrectBias, AConvPackedAsAMatrixKeepsItsMeanOutput) {
  const Graph before = test::parse(R"(
    %x : f32[1,2,H,W] = input "x"
    %w : f32[2,2,2,2] = const "w.weight" {0.9, -1, 0.3, 0.7, 0.11, 0.21, 0.31, 0.41, 1, 2.2, 3, 4, 5, 6.1, 7, 8}
    %y = conv %x, %w
    return %y)");
  FormatRules options;
  options.to = "int3.channel";
  Graph after = run_pass(run_pass(before, "quantize", {options}), "fold_fake_quant");
  Statistics s;
  s.layers["w.weight"] = {
      .vectors = 1, .width = 8, .groups = 1, .mean = {1, 2, 3, 4, 5, 6, 7, 8}, .max_abs = {}, .moment = {}};
  // x whose every window is that mean: one place, channels 1 and 2 at each tap.
  const auto one_window = [](const Graph& graph) {
    return evaluate(graph, {{"x", Tensor::of<float>({1, 2, 2, 2}, {1, 3, 5, 7, 2, 4, 6, 8})}})[0].to_doubles();
  };
  const std::vector<double> was = one_window(before), rounded = one_window(after),
                            is = one_window(corrected(after, before, s));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GT(std::abs(rounded[i] - was[i]), 0.01);
    EXPECT_NEAR(is[i], was[i], 1e-4 * std::abs(was[i]));
  }
}

TEST(CorrectBias, UnroundedLayersAndBiasesThatArePackedStay) {
  const Graph before = model();
  EXPECT_EQ(corrected(before, before, statistics()).find_constant("c.bias"), kNone);
  Graph after = rounded(before);
  const ValueId bias = after.find_constant("a.bias");
  const Tensor packed = pack(parse_format("int8"), *before.constant(bias));
  after.set_constant(bias, packed);
  const Graph result = corrected(after, before, statistics());
  EXPECT_TRUE(result.constant(result.find_constant("a.bias"))->same_bits(packed));
}

TEST(CorrectBias, NeedsCalibrationData) {
  EXPECT_EQ(error_of([] { run_pass(model(), "correct_bias"); }), "bias correction needs calibration data");
}

}  // namespace
}  // namespace hone
