// Rounding to a format, whose gradient is not the derivative of what it computes but a mask of what it is given.
#include <gtest/gtest.h>

#include <limits>

#include "gradients/gradient.h"
#include "ops/calls.h"
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

}  // namespace
}  // namespace hone
