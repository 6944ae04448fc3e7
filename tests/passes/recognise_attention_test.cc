// Ways to spell masks, and queries that see no key; what only looks like attention stays.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"

namespace hone {
namespace {

// `lines` define the weights %w from the scores %s [2,2,4,4]. Under %seen query 0 sees no key, the others those before
// their own.
Graph spelled(const std::string& lines) {
  return test::parse(fmt::format(R"(
    %q : f32[2,4,6] = input
    %k : f32[2,4,6] = input
    %v : f32[2,4,6] = input
    %seen : bool[4,4] = const "seen" {{false, false, false, false,
                                       true, false, false, false,
                                       true, true, false, false,
                                       true, true, true, false}}
    %qr = reshape %q {{shape=[2,4,2,3]}}
    %qh = transpose %qr {{perm=[0, 2, 1, 3]}}
    %kr = reshape %k {{shape=[2,4,2,3]}}
    %kh = transpose %kr {{perm=[0, 2, 3, 1]}}
    %vr = reshape %v {{shape=[2,4,2,3]}}
    %vh = transpose %vr {{perm=[0, 2, 1, 3]}}
    %s = matmul %qh, %kh
    {}
    %o = matmul %w, %vh
    %t = transpose %o {{perm=[0, 2, 1, 3]}}
    %y = reshape %t {{shape=[2,4,6]}}
    return %y)",
                                 lines));
}

const std::string kMask = "%b = where %seen, 0.0, -inf\n %m = add %s, %b\n", kChosen = "%m = where %seen, %s, -inf\n",
                  kWeights = "%p = softmax %m {axis=-1}\n", kGuard = "%n = is_nan %p\n %w = where %n, 0.0, %p\n";

Graph recognised(const Graph& graph) { return run_pass(graph, "recognise_attention"); }

TEST(RecogniseAttention, QueriesThatSeeNoKeyAreZeroWhereWeightsThatAreNaNAre) {
  for (const std::string& mask : {kMask, kChosen}) {
    const Graph before = spelled(mask + kWeights + kGuard), after = recognised(before);
    ASSERT_EQ(after.nodes("attention").size(), 1u) << print(after);
    const Node& node = after.node(after.nodes("attention")[0]);
    EXPECT_EQ(node.attributes.get_or<int64_t>("blind_is_zero", 0), 1);
    EXPECT_EQ(after.type(node.operands[3]).dtype, DType::boolean);
    test::expect_same_outputs(before, after, 0x1p-20);
  }
}

TEST(RecogniseAttention, WithoutAGuardTheyAreNaN) {
  for (const std::string& mask : {kMask, kChosen}) {
    const Graph before = spelled(mask + "%w = softmax %m {axis=-1}\n"), after = recognised(before);
    ASSERT_EQ(after.nodes("attention").size(), 1u) << print(after);
    EXPECT_FALSE(after.node(after.nodes("attention")[0]).attributes.has("blind_is_zero"));
    Philox rng(7);
    EXPECT_TRUE(std::isnan(evaluate(after, test::random_inputs(after, rng))[0].to_floats()[0]));
    test::expect_same_outputs(before, after, 0x1p-20);
  }
}

TEST(RecogniseAttention, FiniteNumbersOfAMaskAreAdded) {
  const Graph before = spelled("%b = where %seen, 0.0, -3.4028235e38\n %m = add %s, %b\n" + kWeights + kGuard);
  const Graph after = recognised(before);
  ASSERT_EQ(after.nodes("attention").size(), 1u) << print(after);
  EXPECT_EQ(after.type(after.node(after.nodes("attention")[0]).operands[3]).dtype, DType::f32);
  test::expect_same_outputs(before, after, 0x1p-20);
}

TEST(RecogniseAttention, OtherUsesOfTheWeightsAndOtherGuardsKeepThem) {
  for (const std::string& lines :
       {kMask + kWeights + "%n = is_nan %p\n %w = where %n, 1.0, %p\n",
        kMask + kWeights + "%n = is_nan %s\n %w = where %n, 0.0, %p\n",
        kMask + kWeights + "%n = is_nan %p\n %p2 = add %p, 1.0\n %w = where %n, 0.0, %p2\n",
        kMask + kWeights + "%n = is_nan %p\n %g = where %n, 0.0, %p\n %h = neg %g\n %w = add %g, %h\n",
        std::string("%m = where %seen, -inf, %s\n") + kWeights + kGuard}) {
    const Graph before = spelled(lines), after = recognised(before);
    EXPECT_TRUE(after.nodes("attention").empty()) << lines;
    test::expect_same_outputs(before, after, 0);
  }
}

}  // namespace
}  // namespace hone
