// Attention kernels against softmax(scale · q·kᵀ + mask) · v in double.
#include <gtest/gtest.h>

#include <limits>

#include "tests/device/x86/attention_run.h"
#include "tests/device/x86/test_targets.h"
#include "tests/support/attention_bound.h"

namespace hone::test {
namespace {

// A score errs by (d + 3) roundings of what it is summed from; a weight exp(score) therefore by that absolute amount,
// relative, and by the error of exp and of the sum of `keys` weights; the result is a weighted mean of v.
struct Row {
  std::vector<double> weights;
  double relative = 0;
};
Row weights_of(const AttentionCase& c, const AttentionInputs& in, const std::vector<float>& q,
               const std::vector<float>& k, int64_t b, int64_t h, int64_t s, bool rounds_weights = false) {
  const int64_t kv = h / (c.heads / c.kv_heads), d = c.head_dim;
  const std::vector<int64_t> strides = mask_strides(c);
  Row row;
  double most = -std::numeric_limits<double>::infinity(), sum = 0, error = 0;
  for (int64_t t = 0; t < c.keys; ++t) {
    double score = 0, abs = 0;
    for (int64_t i = 0; i < d; ++i) {
      const double p = double{q[static_cast<size_t>(((b * c.queries + s) * c.heads + h) * d + i)]} *
                       k[static_cast<size_t>(((b * c.keys + t) * c.kv_heads + kv) * d + i)] * double{0.3f};
      score += p, abs += std::abs(p);
    }
    if (!c.mask_shape.empty()) {
      const float m = in.mask.as<float>()[static_cast<size_t>(b * strides[0] + h * strides[1] + s * strides[2] + t)];
      score += m;
      if (m > c.masked / 2) abs += std::abs(m);
    }
    if (c.causal && t > s + c.keys - c.queries) score = -std::numeric_limits<double>::infinity();
    row.weights.push_back(score);
    most = std::max(most, score);
    error = std::max(error, dot_bound(abs, d + 3, 0, kEpsF32));
  }
  for (double& w : row.weights) sum += w = std::exp(w - most);
  for (double& w : row.weights) w /= sum;
  // Both the largest score and the score itself err; exp by 4 ulp of f32 and by the rounding of its argument (up to
  // 90).
  row.relative = 4 * error + (90 + 8 + 2 * static_cast<double>(c.keys) + 4) * kEpsF32;
  if (rounds_weights) row.relative += rounded_weight_error();
  return row;
}

void check(const AttentionCase& c, const X86Target& target, uint64_t seed, int64_t chunk = 0) {
  Philox rng(seed);
  const AttentionInputs in = random_inputs(c, rng);
  bool intact = false;
  const std::vector<float> got = run(c, in, target, chunk, intact);
  ASSERT_TRUE(intact);
  const std::vector<float> q = in.q.to_floats(), k = in.k.to_floats(), v = in.v.to_floats();
  const int64_t d = c.head_dim;
  for (int64_t b = 0; b < c.batches; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t s = 0; s < c.queries; ++s) {
        const Row row = weights_of(c, in, q, k, b, h, s, attention_shape(plan_of(c), target).pairs());
        for (int64_t i = 0; i < d; ++i) {
          double want = 0, abs = 0;
          for (int64_t t = 0; t < c.keys; ++t) {
            const double p =
                row.weights[static_cast<size_t>(t)] *
                v[static_cast<size_t>(((b * c.keys + t) * c.kv_heads + h / (c.heads / c.kv_heads)) * d + i)];
            want += p, abs += std::abs(p);
          }
          double bound = abs * row.relative;
          if (c.result == DType::bf16) bound = rounded_bound(want, bound, kEpsBf16);
          const float is = got[static_cast<size_t>(((b * c.queries + s) * c.heads + h) * d + i)];
          if (std::isnan(want)) ASSERT_TRUE(std::isnan(is)) << "b " << b << " h " << h << " s " << s;
          else
            ASSERT_NEAR(is, want, bound) << name_of(target) << " b " << b << " h " << h << " s " << s << " column "
                                         << i;
        }
      }
}

TEST(Attention, LengthsAndHeadSizesAroundTheTile) {
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16})
      for (auto [queries, keys, head_dim] : {std::tuple<int64_t, int64_t, int>{1, 1, 1},
                                             {8, 16, 32},
                                             {9, 33, 64},
                                             {128, 128, 32},
                                             {130, 37, 20},
                                             {3, 70, 7}})
        check({.queries = queries, .keys = keys, .heads = 2, .kv_heads = 2, .head_dim = head_dim, .dtype = dtype},
              target, 1);
}

TEST(Attention, MasksOfEveryBroadcast) {
  for (const X86Target& target : test_targets())
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{1, 1, 1, 19}, {2, 1, 1, 19}, {2, 1, 10, 19}, {1, 3, 10, 19}, {2, 3, 10, 19}})
      check({.batches = 2, .queries = 10, .keys = 19, .heads = 3, .kv_heads = 3, .mask_shape = shape}, target, 2);
}

TEST(Attention, CausalSeesTheKeysUpToItsOwnPosition) {
  for (const X86Target& target : test_targets())
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{21, 21}, {5, 40}, {40, 40}})
      check({.queries = queries, .keys = keys, .heads = 2, .kv_heads = 2, .head_dim = 16, .causal = true}, target, 3);
}

TEST(Attention, QueriesBeforeEveryKeyGiveNanAsInTheReference) {
  check({.queries = 9, .keys = 4, .heads = 1, .kv_heads = 1, .causal = true}, host_target(), 4);
}

TEST(Attention, HeadsOfQueriesShareHeadsOfKeys) {
  for (const X86Target& target : test_targets())
    check({.batches = 2,
           .queries = 6,
           .keys = 20,
           .heads = 6,
           .kv_heads = 2,
           .head_dim = 24,
           .dtype = DType::bf16,
           .result = DType::bf16},
          target, 5);
}

// Several blocks of keys, rows that no vector divides, more sums than registers; queries that are some together, one
// that is left over, and a few.
TEST(Attention, FewQueriesReadKeysAndValuesInTheirRows) {
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16})
      for (auto [queries, keys, kv_heads, head_dim] : {std::tuple<int64_t, int64_t, int, int>{1, 700, 2, 64},
                                                       {3, 301, 4, 20},
                                                       {1, 75, 2, 130},
                                                       {2, 24, 1, 7},
                                                       {4, 75, 2, 64},
                                                       {5, 301, 4, 64},
                                                       {15, 40, 4, 130},
                                                       {16, 20, 4, 72}}) {
        AttentionCase c{.batches = 2, .queries = queries, .keys = keys, .heads = 4, .kv_heads = kv_heads};
        c.head_dim = head_dim, c.dtype = dtype;
        if (dtype == DType::f32) {
          ASSERT_LE(queries * (4 / kv_heads), attention_rows_in_rows(plan_of(c), keys));
        }
        check(c, target, 10);
        c.causal = true;
        check(c, target, 11);
        c.causal = false, c.mask_shape = {2, 1, queries, keys};
        check(c, target, 12);
      }
}

TEST(Attention, ASequenceHasTheSameBitsAloneAndAmongOthers) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 300}, {40, 300}, {2, 2100}}) {
    AttentionCase c{.batches = 3, .queries = queries, .keys = keys, .heads = 4, .kv_heads = 2};
    Philox rng(13);
    const AttentionInputs in = random_inputs(c, rng);
    bool intact = false;
    const std::vector<float> together = run(c, in, host_target(), 0, intact);
    const auto first = [](const Tensor& x) {
      std::vector<float> values = x.to_floats();
      values.resize(values.size() / 3);
      return Tensor::from_floats(DType::f32, {1, x.shape()[1], x.shape()[2]}, values);
    };
    c.batches = 1;
    const std::vector<float> alone = run(c, {first(in.q), first(in.k), first(in.v), {}}, host_target(), 0, intact);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin())) << queries;
  }
}

// An additive mask of the lowest f32 over a whole row leaves equal weights or the scores' own order, never NaN.
TEST(Attention, ARowMaskedWithLowestFiniteStaysFinite) {
  const AttentionCase c{.queries = 8, .keys = 16, .heads = 1, .kv_heads = 1, .mask_shape = {1, 1, 8, 16}};
  Philox rng(6);
  AttentionInputs in = random_inputs(c, rng);
  for (float& m : in.mask.mutable_as<float>()) m = -std::numeric_limits<float>::max();
  bool intact = false;
  for (float x : run(c, in, host_target(), 0, intact)) EXPECT_TRUE(std::isfinite(x));
}

TEST(Attention, ARowOfMinusInfinityIsNan) {
  const AttentionCase c{.queries = 2, .keys = 16, .heads = 1, .kv_heads = 1, .mask_shape = {1, 1, 2, 16}};
  Philox rng(7);
  AttentionInputs in = random_inputs(c, rng);
  for (int t = 0; t < 16; ++t)
    in.mask.mutable_as<float>()[static_cast<size_t>(t)] = -std::numeric_limits<float>::infinity();
  bool intact = false;
  const std::vector<float> got = run(c, in, host_target(), 0, intact);
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_TRUE(std::isfinite(got[8]));
}

TEST(Attention, AnySplitOfTheItemsGivesTheSameBits) {
  for (const AttentionCase& c : {AttentionCase{.batches = 2, .queries = 140, .keys = 30, .heads = 3, .kv_heads = 3},
                                 AttentionCase{.batches = 2, .queries = 3, .keys = 2100, .heads = 6, .kv_heads = 3}}) {
    Philox rng(8);
    const AttentionInputs in = random_inputs(c, rng);
    bool intact = false;
    const std::vector<float> whole = run(c, in, host_target(), 0, intact);
    for (int64_t chunk : {1, 5}) EXPECT_EQ(run(c, in, host_target(), chunk, intact), whole);
  }
}

TEST(Attention, LongKeysOfFewQueriesMakeWorkForManyThreads) {
  X86AttentionPlan plan{{.heads = 32, .kv_heads = 8, .head_dim = 128, .value_dim = 128}};
  plan.splits = true;
  for (const X86Target& target : test_targets()) {
    const auto launched = [&](int64_t queries, int64_t keys) {
      KernelArgs args = to_args(AttentionArgs{.batches = 1, .queries = queries, .keys = keys});
      const int64_t items = launch(plan, target, args).items;
      return std::pair(items, from_args<X86AttentionArgs>(args).ranges);
    };
    EXPECT_GE(launched(1, 4096).first, 64);
    EXPECT_EQ(launched(1, 128), std::pair(int64_t{8}, int64_t{1}));
    EXPECT_EQ(launched(17, 4096), std::pair(int64_t{8}, int64_t{1}));
  }
}

// Four heads that share keys, of one query each, and four queries of one head are multiplied alike.
TEST(Attention, HeadsThatShareKeysFillAStripAsQueriesDo) {
  AttentionCase shared{.queries = 1, .keys = 1500, .heads = 4, .kv_heads = 1, .head_dim = 64}, alone = shared;
  alone.queries = 4, alone.heads = 1;
  Philox rng(14);
  AttentionInputs in = random_inputs(shared, rng);
  bool intact = false;
  const std::vector<float> of_heads = run(shared, in, host_target(), 0, intact);
  in.q = Tensor::from_floats(DType::f32, {1, 4, 64}, in.q.to_floats());
  EXPECT_EQ(run(alone, in, host_target(), 0, intact), of_heads);
}

// The bound is no blanket: leaving out one key of a row is outside of it.
TEST(Attention, ADroppedKeyIsOutsideTheBound) {
  const AttentionCase c{.queries = 1, .keys = 20, .heads = 1, .kv_heads = 1};
  Philox rng(9);
  const AttentionInputs in = random_inputs(c, rng);
  bool intact = false;
  const float got = run(c, in, host_target(), 0, intact)[0];
  const Row row = weights_of(c, in, in.q.to_floats(), in.k.to_floats(), 0, 0, 0);
  const std::vector<float> v = in.v.to_floats();
  double want = 0, abs = 0, largest = 0;
  for (size_t t = 0; t < 20; ++t) {
    const double p = row.weights[t] * v[t * 8];
    want += p, abs += std::abs(p);
    if (std::abs(p) > std::abs(largest)) largest = p;
  }
  EXPECT_LE(std::abs(got - want), abs * row.relative);
  EXPECT_GT(std::abs(got - (want - largest)), abs * row.relative);
}

}  // namespace
}  // namespace hone::test
