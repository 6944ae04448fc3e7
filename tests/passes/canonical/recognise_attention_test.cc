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

// `lines` define q4 [2,4,3,6], kt [2,4,6,5] and v4 [2,4,5,6] from what they take, and may read %y4.
Graph with_heads(const std::string& lines, const std::string& after) {
  return test::parse(fmt::format("{}\n %s = matmul %q4, %kt\n %m = mul %s, 0.3\n %w = softmax %m {{axis=-1}}\n"
                                 " %y4 = matmul %w, %v4\n{}\n return %y",
                                 lines, after));
}

const std::string kRows =
    "%q : f32[2,3,24] = input\n %k : f32[2,5,24] = input\n %v : f32[2,5,24] = input\n"
    "%q3 = reshape %q {shape=[2,3,4,6]}\n %k3 = reshape %k {shape=[2,5,4,6]}\n %v3 = reshape %v {shape=[2,5,4,6]}\n"
    "%qh = transpose %q3 {perm=[0, 2, 1, 3]}\n %kh = transpose %k3 {perm=[0, 2, 1, 3]}\n"
    "%v4 = transpose %v3 {perm=[0, 2, 1, 3]}\n";
const std::string kTurned = "%kt = transpose %k4 {perm=[0, 1, 3, 2]}\n";
const std::string kJoined = "%t = transpose %y4 {perm=[0, 2, 1, 3]}\n %y = reshape %t {shape=[2,3,24]}\n";

// Rows of heads are read as they lie: nothing is transposed any more but what broadcasts over heads.
void expect_rows(const Graph& before, int64_t kv_heads = 4) {
  const Graph after = run_passes(before, {"recognise_attention", "remove_dead"});
  ASSERT_EQ(after.nodes("attention").size(), 1u) << print(after);
  const Attributes& attributes = after.node(after.nodes("attention")[0]).attributes;
  EXPECT_EQ(attributes.get_or<int64_t>("kv_heads", 4), kv_heads);
  EXPECT_TRUE(after.nodes("softmax").empty());
  for (NodeId id : after.nodes("transpose")) EXPECT_EQ(after.type(after.operand(id, 0)).shape[1], Dim(1)) << print(after);
  test::expect_same_outputs(before, after, 0x1p-20);
}

TEST(RecogniseAttention, PositionsMayBeRotatedBetweenHeadsAndProduct) {
  const auto rotated = [](const char* x, const char* cos, const std::string& to) {
    return fmt::format(
        "%{0}a = slice %{0}h {{axes=[3], starts=[3], ends=[6], steps=[1]}}\n %{0}n = neg %{0}a\n"
        "%{0}b = slice %{0}h {{axes=[3], starts=[0], ends=[3], steps=[1]}}\n %{0}c = concat %{0}n, %{0}b {{axis=3}}\n"
        "%{0}d = mul %{0}c, %{1}\n %{0}e = mul %{0}h, %{1}\n %{2} = add %{0}d, %{0}e\n",
        x, cos, to);
  };
  const std::string positions = "%cq : f32[1,1,3,6] = input\n %ck : f32[1,1,5,6] = input\n";
  expect_rows(with_heads(positions + kRows + rotated("q", "cq", "q4") + rotated("k", "ck", "k4") + kTurned, kJoined));
}

TEST(RecogniseAttention, KeysMayBeTransposedAmongReshapes) {
  expect_rows(with_heads(kRows + "%q4 = mul %qh, 0.5\n %flat = reshape %kh {shape=[8,5,6]}\n"
                                 "%tt = transpose %flat {perm=[0, 2, 1]}\n %k4 = reshape %tt {shape=[2,4,6,5]}\n"
                                 "%kt = mul %k4, 0.5\n",
                         kJoined));
}

TEST(RecogniseAttention, HeadsMayShareKeys) {
  const std::string lines =
      "%q : f32[2,3,24] = input\n %k : f32[2,5,12] = input\n %v : f32[2,5,12] = input\n"
      "%q3 = reshape %q {shape=[2,3,4,6]}\n %q4 = transpose %q3 {perm=[0, 2, 1, 3]}\n"
      "%k3 = reshape %k {shape=[2,5,2,6]}\n %kh = transpose %k3 {perm=[0, 2, 1, 3]}\n"
      "%v3 = reshape %v {shape=[2,5,2,6]}\n %vh = transpose %v3 {perm=[0, 2, 1, 3]}\n"
      "%ku = unsqueeze %kh {axes=[2]}\n %ke = expand %ku {shape=[2,2,2,5,6]}\n"
      "%vu = unsqueeze %vh {axes=[2]}\n %ve = expand %vu {shape=[2,2,2,5,6]}\n"
      "%v4 = reshape %ve {shape=[2,4,5,6]}\n";
  expect_rows(with_heads(lines + "%k4 = reshape %ke {shape=[2,4,5,6]}\n" + kTurned, kJoined), 2);
  expect_rows(with_heads(lines + "%flat = reshape %ke {shape=[8,5,6]}\n %tt = transpose %flat {perm=[0, 2, 1]}\n"
                                 "%kt = reshape %tt {shape=[2,4,6,5]}\n",
                         kJoined),
              2);
}

TEST(RecogniseAttention, PositionsMayComeBeforeBatches) {
  const auto stacked = [](const char* x, int length, const char* to) {
    return fmt::format(
        "%{0} : f32[{1},2,24] = input\n %{0}r = reshape %{0} {{shape=[{1},8,6]}}\n"
        "%{0}p = transpose %{0}r {{perm=[1, 0, 2]}}\n %{2} = reshape %{0}p {{shape=[2,4,{1},6]}}\n",
        x, length, to);
  };
  const Graph before =
      with_heads(stacked("q", 3, "q4") + stacked("k", 5, "k4") + stacked("v", 5, "v4") + kTurned, kJoined);
  const Graph after = recognised(before);
  EXPECT_EQ(after.nodes("attention").size(), 1u) << print(after);
  test::expect_same_outputs(before, after, 0x1p-20);
}

TEST(RecogniseAttention, TheProductMayBeReadByHeadToo) {
  for (const char* end : {"%y = neg %y4\n", "%t = transpose %y4 {perm=[0, 2, 1, 3]}\n %y = reshape %t {shape=[6,24]}\n",
                          "%y = transpose %y4 {perm=[2, 0, 1, 3]}\n"}) {
    const Graph before = with_heads(kRows + "%q4 = mul %qh, 0.5\n %k4 = mul %kh, 2.0\n" + kTurned, end);
    const Graph after = recognised(before);
    EXPECT_EQ(after.nodes("attention").size(), 1u) << print(after);
    test::expect_same_outputs(before, after, 0x1p-20);
  }
}

TEST(RecogniseAttention, SeveralMasksAreAdded) {
  const Graph before = spelled("%a : f32[1,2,4,4] = input\n %b : f32[2,1,1,4] = input\n %s1 = add %s, %a\n"
                               "%m = add %b, %s1\n %w = softmax %m {axis=-1}\n");
  const Graph after = recognised(before);
  EXPECT_EQ(after.nodes("attention").size(), 1u) << print(after);
  test::expect_same_outputs(before, after, 0x1p-20);
}

// Of keys that are an input by head, as caches are, all would have to be moved in each run.
TEST(RecogniseAttention, HeadsThatLieApartStay) {
  for (const char* rows : {"%q4 : f32[2,4,3,6] = input\n %k4 : f32[2,4,5,6] = input\n %v4 : f32[2,4,5,6] = input\n",
                           "%q4 : f32[2,4,3,6] = input\n %k0 : f32[2,4,5,6] = input\n %k4 = neg %k0\n %v4 = neg %k0\n"}) {
    const Graph before = with_heads(rows + kTurned, "%y = neg %y4\n");
    EXPECT_EQ(print(recognised(before)), print(before));
  }
}

}  // namespace
}  // namespace hone
