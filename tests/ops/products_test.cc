// linear, matmul and attention on numbers that a person can check.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

const Attributes kOneHead{{"heads", int64_t{1}}};

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  const Tensor y = call("linear", {f32({2, 2}, {1, 2, 3, 4}), f32({3, 2}, {1, 0, 0, 1, 1, 1}), f32({3}, {10, 20, 30})});
  EXPECT_EQ(y.shape(), (Sizes64{2, 3}));
  EXPECT_EQ(y.to_floats(), (Floats{11, 22, 33, 13, 24, 37}));
}

TEST(Linear, GivesF32ForNarrowOperandsAndSumsInDouble) {
  const Tensor x = Tensor::from_floats(DType::bf16, {1, 3}, Floats{1, 1, 1}), w = f32({1, 3}, {1e8f, 1, -1e8f});
  const Tensor y = call("linear", {x, w});
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(y.to_floats(), (Floats{1}));  // in f32 the 1 would be lost
}

TEST(Linear, SaysWhichShapesDoNotFit) {
  const std::string text = error_of("linear", {f32({2, 3}, Floats(6)), f32({4, 2}, Floats(8))});
  EXPECT_NE(text.find("f32[2,3]"), std::string::npos) << text;
  EXPECT_NE(text.find("is 2 but must be 3"), std::string::npos) << text;
  EXPECT_NE(error_of("linear", {f32({1, 2}, Floats(2)), f32({4, 2}, Floats(8)), f32({3}, Floats(3))})
                .find("is 3 but must be 4"),
            std::string::npos);
}

TEST(Matmul, BroadcastsLeadingDimensionsAndTransposesB) {
  const Tensor a = f32({2, 1, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {5, 6, 7, 8});
  EXPECT_EQ(call("matmul", {a, b}).to_floats(), (Floats{19, 22, 43, 50}));
  EXPECT_EQ(call("matmul", {a, b}, {{"transpose_b", int64_t{1}}}).to_floats(), (Floats{17, 23, 39, 53}));
  EXPECT_EQ(call("matmul", {a, b}).shape(), (Sizes64{2, 1, 2}));
  EXPECT_NE(error_of("matmul", {f32({2}, {1, 2}), b}).find("at least 2 dimensions"), std::string::npos);
}

TEST(Attention, EqualScoresAverageTheValues) {
  const Tensor q = f32({1, 1, 2}, {0, 0}), k = f32({1, 2, 2}, {1, 2, 3, 4}), v = f32({1, 2, 2}, {10, 20, 30, 40});
  EXPECT_EQ(call("attention", {q, k, v}, kOneHead).to_floats(), (Floats{20, 30}));
}

TEST(Attention, AMaskOfMinusInfinityHidesAKey) {
  const float hidden = -std::numeric_limits<float>::infinity();
  const Tensor q = f32({1, 1, 2}, {1, 1}), k = f32({1, 2, 2}, {1, 2, 3, 4}), v = f32({1, 2, 2}, {10, 20, 30, 40});
  EXPECT_EQ(call("attention", {q, k, v, f32({1, 1, 1, 2}, {0, hidden})}, kOneHead).to_floats(), (Floats{10, 20}));
  EXPECT_NE(error_of("attention", {q, k, v, f32({3}, {0, 0, 0})}, kOneHead), "");
}

TEST(Attention, ABooleanMaskSaysWhichKeysAreSeen) {
  const Tensor q = f32({1, 1, 2}, {1, 1}), k = f32({1, 2, 2}, {1, 2, 3, 4}), v = f32({1, 2, 2}, {10, 20, 30, 40});
  const Tensor first = Tensor::of<bool>({2}, {true, false}), none = Tensor::of<bool>({2}, {false, false});
  EXPECT_EQ(call("attention", {q, k, v, first}, kOneHead).to_floats(), (Floats{10, 20}));
  EXPECT_TRUE(std::isnan(call("attention", {q, k, v, none}, kOneHead).to_floats()[0]));
  const Attributes zero{{"heads", int64_t{1}}, {"blind_is_zero", int64_t{1}}};
  EXPECT_EQ(call("attention", {q, k, v, none}, zero).to_floats(), (Floats{0, 0}));
}

TEST(Attention, WindowsAreAroundAQuerysPosition) {
  const Tensor q = f32({1, 2, 1}, {0, 0}), k = f32({1, 4, 1}, {0, 0, 0, 0}), v = f32({1, 4, 1}, {1, 2, 4, 8});
  const auto seen = [&](Attributes attributes) {
    attributes.set("heads", int64_t{1});
    return call("attention", {q, k, v}, attributes).to_floats();
  };
  EXPECT_EQ(seen({{"before", int64_t{1}}, {"behind", int64_t{0}}}), (Floats{3, 6}));  // at keys 2 and 3
  EXPECT_EQ(seen({{"before", int64_t{0}}, {"behind", int64_t{1}}, {"from_start", int64_t{1}}}), (Floats{1.5, 3}));
  EXPECT_EQ(seen({{"causal", int64_t{1}}, {"from_start", int64_t{1}}}), (Floats{1, 1.5}));
  EXPECT_NE(error_of("attention", {q, k, v}, {{"heads", int64_t{1}}, {"before", int64_t{-1}}}).find("before is -1"),
            std::string::npos);
}

TEST(Attention, SinksTakeAPartOfTheWeightsAndSoftCapsBoundScores) {
  const Tensor q = f32({1, 1, 1}, {1}), k = f32({1, 1, 1}, {100}), v = f32({1, 1, 1}, {8});
  EXPECT_EQ(call("attention", {q, f32({1, 1, 1}, {0}), v, f32({1}, {0}), f32({1}, {0})}, kOneHead).to_floats(),
            (Floats{4}));
  const float capped = static_cast<float>(8 / (1 + std::exp(-2 * std::tanh(50.0))));
  EXPECT_FLOAT_EQ(call("attention", {q, k, v, f32({1}, {0}), f32({1}, {0})}, {{"heads", int64_t{1}}, {"softcap", 2.0}})
                      .to_floats()[0],
                  capped);
  EXPECT_NE(error_of("attention", {q, k, v, f32({1}, {0}), f32({2}, {0, 0})}, kOneHead).find("sinks"),
            std::string::npos);
  EXPECT_NE(error_of("attention", {q, k, v}, {{"heads", int64_t{1}}, {"softcap", -1.0}}).find("softcap is -1"),
            std::string::npos);
}

TEST(Attention, MasksThatDoNotBroadcastAreNamed) {
  const Tensor x = f32({1, 2, 1}, {0, 0});
  for (const Tensor& mask : {f32({3, 2}, {0, 0, 0, 0, 0, 0}), f32({2, 1, 2, 2}, Floats(8)),
                             f32({1, 1, 1, 2, 2}, Floats(4)), f32({2, 1, 2}, Floats(4))})
    EXPECT_NE(error_of("attention", {x, x, x, mask}, kOneHead).find("does not broadcast to [1,1,2,2]"),
              std::string::npos)
        << error_of("attention", {x, x, x, mask}, kOneHead);
  EXPECT_NE(error_of("attention", {x, x, x, Tensor::of<int64_t>({2}, {0, 1})}, kOneHead).find("bool"),
            std::string::npos);
}

TEST(Attention, CausalQueriesSeeEarlierKeysOnly) {
  const Tensor x = f32({1, 2, 1}, {0, 0}), v = f32({1, 2, 1}, {2, 4});
  EXPECT_EQ(call("attention", {x, x, v}, {{"heads", int64_t{1}}, {"causal", int64_t{1}}}).to_floats(), (Floats{2, 3}));
}

TEST(Attention, ScalesByTheRootOfTheHeadsColumnsUnlessTold) {
  const Tensor q = f32({1, 1, 4}, {1, 1, 1, 1}), k = f32({1, 2, 4}, {1, 1, 1, 1, 0, 0, 0, 0}),
               v = f32({1, 2, 4}, {1, 1, 1, 1, 0, 0, 0, 0});
  const float by_root = static_cast<float>(1 / (1 + std::exp(-2.0)));  // scores 4 / sqrt 4 and 0
  EXPECT_FLOAT_EQ(call("attention", {q, k, v}, kOneHead).to_floats()[0], by_root);
  EXPECT_FLOAT_EQ(call("attention", {q, k, v}, {{"heads", int64_t{1}}, {"scale", 0.0}}).to_floats()[0], 0.5f);
}

TEST(Attention, HeadsShareKeysInOrder) {
  const Tensor q = f32({1, 1, 4}, {0, 0, 0, 0}), kv = f32({1, 1, 2}, {7, 9});
  EXPECT_EQ(call("attention", {q, kv, kv}, {{"heads", int64_t{4}}, {"kv_heads", int64_t{2}}}).to_floats(),
            (Floats{7, 7, 9, 9}));
  EXPECT_NE(error_of("attention", {q, kv, kv}, {{"heads", int64_t{4}}, {"kv_heads", int64_t{3}}}).find("evenly"),
            std::string::npos);
}

}  // namespace
}  // namespace hone
