// softmax, normalisations, reductions, losses and pooling on numbers that a person can check.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

TEST(Softmax, OfLogarithmsIsTheirShares) {
  const float two = std::log(2.0f);
  const Tensor y = call("softmax", {f32({3}, {0, 0, two})});
  EXPECT_FLOAT_EQ(y.to_floats()[0], 0.25f);
  EXPECT_FLOAT_EQ(y.to_floats()[2], 0.5f);
  EXPECT_FLOAT_EQ(call("log_softmax", {f32({2}, {1000, 1000})}).to_floats()[0], -two);
  EXPECT_EQ(call("softmax", {f32({2, 1}, {5, 5})}, {{"axis", int64_t{0}}}).to_floats(), (Floats{0.5f, 0.5f}));
}

TEST(Softmax, ARowOfMinusInfinityIsNan) {
  const float low = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(call("softmax", {f32({2}, {low, low})}).to_floats()[0]));
}

TEST(LayerNorm, CentresAndScalesToUnitVariance) {
  const Tensor x = f32({1, 2}, {1, 3});
  EXPECT_EQ(call("layer_norm", {x}, {{"epsilon", 0.0}}).to_floats(), (Floats{-1, 1}));
  EXPECT_EQ(call("layer_norm", {x, f32({2}, {2, 3}), f32({2}, {10, 20})}, {{"epsilon", 0.0}}).to_floats(),
            (Floats{8, 23}));
  EXPECT_EQ(call("layer_norm", {x}, {{"epsilon", 3.0}}).to_floats(), (Floats{-0.5f, 0.5f}));
  EXPECT_NE(error_of("layer_norm", {x, f32({3}, {1, 1, 1})}).find("is 3 but must be 2"), std::string::npos);
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  EXPECT_EQ(call("rms_norm", {f32({1, 4}, {2, 2, -2, -2}), f32({4}, {1, 2, 3, 4})}, {{"epsilon", 0.0}}).to_floats(),
            (Floats{1, 2, -3, -4}));
}

TEST(L2Normalise, GivesUnitVectorsAndKeepsZeros) {
  const Floats y = call("l2_normalise", {f32({2, 2}, {3, 4, 0, 0})}).to_floats();
  EXPECT_FLOAT_EQ(y[0], 0.6f);
  EXPECT_FLOAT_EQ(y[1], 0.8f);
  EXPECT_EQ(y[2], 0);
}

TEST(BatchNorm, UsesTheStatisticsOfEachChannel) {
  const Tensor x = f32({1, 2, 2}, {1, 3, 10, 30}), scale = f32({2}, {1, 2}), bias = f32({2}, {0, 5}),
               mean = f32({2}, {1, 10}), variance = f32({2}, {4, 100});
  EXPECT_EQ(call("batch_norm", {x, scale, bias, mean, variance}, {{"epsilon", 0.0}}).to_floats(), (Floats{0, 1, 5, 9}));
}

TEST(Reduce, OverAllOrSomeAxes) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(call("reduce_sum", {x}).shape(), (Sizes64{1, 1}));
  EXPECT_EQ(call("reduce_sum", {x}).to_floats(), (Floats{21}));
  EXPECT_EQ(call("reduce_sum", {x}, {{"axes", Ints{0}}, {"keepdims", int64_t{0}}}).to_floats(), (Floats{5, 7, 9}));
  EXPECT_EQ(call("reduce_mean", {x}, {{"axes", Ints{1}}}).to_floats(), (Floats{2, 5}));
  EXPECT_EQ(call("reduce_max", {x}, {{"axes", Ints{-1}}}).to_floats(), (Floats{3, 6}));
  EXPECT_EQ(call("reduce_min", {x}, {{"axes", Ints{-1}}}).to_floats(), (Floats{1, 4}));
  EXPECT_NE(error_of("reduce_max", {f32({0}, {})}).find("no extreme"), std::string::npos);
  EXPECT_EQ(call("reduce_sum", {f32({0}, {})}).to_floats(), (Floats{0}));
}

TEST(Reduce, IntegersStayExact) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(call("reduce_sum", {i64({2}, {big, 1})}).to_integers(), (Ints{big + 1}));
  EXPECT_EQ(call("reduce_max", {i64({2}, {big, big - 1})}).to_integers(), (Ints{big}));
}

TEST(Argmax, TheFirstOfEqualsAndTheFirstNanWin) {
  EXPECT_EQ(call("argmax", {f32({2, 3}, {1, 5, 5, 9, 2, 3})}).to_integers(), (Ints{1, 0}));
  EXPECT_EQ(call("argmax", {f32({3}, {1, std::nanf(""), 9})}).to_integers(), (Ints{1}));
  EXPECT_EQ(call("argmax", {f32({2, 1}, {1, 5})}, {{"axis", int64_t{0}}, {"keepdims", int64_t{1}}}).shape(),
            (Sizes64{1, 1}));
}

TEST(MeanPool, AveragesTheTokensThatTheMaskKeeps) {
  const Tensor x = f32({2, 2, 1}, {1, 3, 5, 7});
  EXPECT_EQ(call("mean_pool", {x, i64({2, 2}, {1, 1, 0, 1})}).to_floats(), (Floats{2, 7}));
  EXPECT_EQ(call("mean_pool", {x, i64({2, 2}, {0, 0, 0, 0})}).to_floats(), (Floats{0, 0}));
}

TEST(CrossEntropy, IsTheMeanSurpriseOfTheLabels) {
  const Tensor logits = f32({2, 2}, {0, 0, 0, std::log(3.0f)});
  EXPECT_FLOAT_EQ(call("cross_entropy", {logits, i64({2}, {0, 1})}).to_floats()[0],
                  static_cast<float>((std::log(2.0) + std::log(4.0 / 3)) / 2));
  EXPECT_FLOAT_EQ(call("cross_entropy", {logits, i64({2}, {0, -100})}).to_floats()[0], std::log(2.0f));
  EXPECT_NE(error_of("cross_entropy", {logits, i64({2}, {0, 2})}).find("label 2 of row 1"), std::string::npos);
}

}  // namespace
}  // namespace hone
