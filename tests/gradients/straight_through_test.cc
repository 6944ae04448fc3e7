// Rounding to a format, whose gradient is not the derivative of what it computes but a mask of what it is given.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "gradients/gradient.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/full.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

// What passes of gradients 1, 2, 3, … of the result.
std::vector<float> passed(const OpDef& op, const char* format, const std::vector<float>& x) {
  Graph graph;
  const auto n = static_cast<int64_t>(x.size());
  std::vector<float> d;
  for (int64_t i = 1; i <= n; ++i) d.push_back(static_cast<float>(i));
  const ValueId input = graph.add_input("x", {.dtype = DType::f32, .shape = {n}});
  const NodeId node = graph.add_node(op, {input}, {{"format", parse_format(format)}});
  const ValueId d_result = graph.add_constant("", Tensor::of<float>({n}, d));
  const bool wanted = true;
  graph.add_output(gradients_of({graph, node, {&d_result, 1}, {&wanted, 1}})[0], "gradient");
  return evaluate(graph, {{"x", Tensor::of<float>({n}, x)}})[0].to_floats();
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kX{-9, -8, -7.9375f, 0.03f, 7.9375f, 7.95f, kInfinity, std::nanf("")};

TEST(StraightThrough, OfAFixedRangePassesWhatLiesInItBothEndsIncluded) {
  for (const OpDef* op : {&fake_quant_def, &round_to_def})
    EXPECT_EQ(passed(*op, "int8.f4", kX), (std::vector<float>{0, 2, 3, 4, 5, 0, 0, 0})) << op->name;
}

TEST(StraightThrough, OfScalesThatFollowTheDataPassesAllThatIsFinite) {
  for (const char* format : {"mxint4", "int8.channel"})
    EXPECT_EQ(passed(fake_quant_def, format, kX), (std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0})) << format;
}

// Gradients of x, scale and zero point of a fake_quant with a scale that is given, from ones.
std::vector<std::vector<float>> by_operands(const char* format, const std::vector<Tensor>& operands) {
  Graph graph;
  std::vector<ValueId> values;
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string label = "operand" + std::to_string(i);
    values.push_back(graph.add_input(label, operands[i].type()));
    inputs[label] = operands[i];
  }
  const NodeId node = graph.add_node(fake_quant_def, values, {{"format", parse_format(format)}});
  const ValueId d =
      ops::full(graph, {.shape = graph.type(graph.result(node)).shape, .value = 1.0, .dtype = DType::f32});
  const bool wanted[] = {true, true, true};
  const std::vector<ValueId> gradients = gradients_of({graph, node, {&d, 1}, std::span(wanted).first(operands.size())});
  for (size_t i = 0; i < gradients.size(); ++i) graph.add_output(gradients[i], std::to_string(i));
  verify(graph);
  std::vector<std::vector<float>> found;
  for (const Tensor& gradient : evaluate(graph, inputs)) found.push_back(gradient.to_floats());
  return found;
}

// LSQ: sums of round(x / s) - x / s, or of the extreme codes, over each row, times 1 / sqrt(3 * 7).
TEST(StraightThrough, AGivenScaleHasTheGradientOfLsqForEachOfItsGroups) {
  const auto found = by_operands("int4.channel", {Tensor::of<float>({2, 3}, {0.33f, 5, -0.38f, 0.2f, -9, -0.06f}),
                                                  Tensor::of<float>({2, 1}, {0.1f, 0.05f})});
  EXPECT_EQ(found[0], (std::vector<float>{1, 0, 1, 1, 0, 1}));
  const double factor = 1 / std::sqrt(3.0 * 7.0);
  EXPECT_NEAR(found[1][0], factor * ((3 - 3.3) + 7 + (-4 + 3.8)), 1e-5);
  EXPECT_NEAR(found[1][1], factor * (0.0 - 7 + (-1 + 1.2)), 1e-5);
}

// Groups of 2 along rows of 3: the last is padded. A power of two has no factor.
TEST(StraightThrough, OfGroupsThatAreCutOffTheLogarithmsHaveTheirOwnSums) {
  const auto found =
      by_operands("mxint4.g2", {Tensor::of<float>({1, 3}, {0.3f, 9, -0.7f}), Tensor::of<float>({1, 2}, {-1.2f, 0})});
  EXPECT_EQ(found[0], (std::vector<float>{1, 0, 1}));
  EXPECT_NEAR(found[1][0], 0.5 * std::log(2.0) * ((0.5 - 0.6) + 1.75), 1e-5);
  EXPECT_NEAR(found[1][1], std::log(2.0) * (-0.75 + 0.7), 1e-5);
}

TEST(StraightThrough, AZeroPointMovesWhatIsCutOffAlone) {
  const auto found = by_operands(
      "uint4.channel.asym",
      {Tensor::of<float>({1, 3}, {0.33f, 5, -9}), Tensor::of<float>({1, 1}, {0.1f}), Tensor::of<float>({1, 1}, {5})});
  EXPECT_EQ(found[0], (std::vector<float>{1, 0, 0}));
  EXPECT_NEAR(found[2][0], -0.2, 1e-6);
}

}  // namespace
}  // namespace hone
