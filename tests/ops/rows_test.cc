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
  EXPECT_EQ(call("reduce_prod", {x}, {{"axes", Ints{0}}}).to_floats(), (Floats{4, 10, 18}));
}

TEST(Reduce, OverNoElementsGivesTheNeutralElement) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor none = f32({0}, {});
  EXPECT_EQ(call("reduce_sum", {none}).to_floats(), (Floats{0}));
  EXPECT_EQ(call("reduce_prod", {none}).to_floats(), (Floats{1}));
  EXPECT_EQ(call("reduce_max", {none}).to_floats(), (Floats{-kInfinity}));
  EXPECT_EQ(call("reduce_min", {none}).to_floats(), (Floats{kInfinity}));
  EXPECT_EQ(call("reduce_max", {Tensor::of<int8_t>({0}, {})}).to_integers(), (Ints{-128}));
  EXPECT_EQ(call("reduce_min", {Tensor::of<int8_t>({0}, {})}).to_integers(), (Ints{127}));
  EXPECT_EQ(call("reduce_min", {Tensor::of<uint64_t>({0}, {})}).as<uint64_t>()[0], ~uint64_t{0});
  EXPECT_EQ(call("reduce_min", {Tensor::of<bool>({0}, {})}).to_integers(), (Ints{1}));
}

TEST(Reduce, AxesMayBeAnOperand) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(call("reduce_sum", {x, i64({1}, {0})}, {{"keepdims", int64_t{0}}}).to_floats(), (Floats{5, 7, 9}));
  EXPECT_EQ(call("reduce_sum", {x, i64({0}, {})}).to_floats(), (Floats{21}));
  EXPECT_EQ(call("reduce_sum", {x, i64({0}, {})}, {{"noop_with_empty_axes", int64_t{1}}}).to_floats(), x.to_floats());
  EXPECT_NE(error_of("reduce_sum", {x, i64({1}, {0})}, {{"axes", Ints{0}}}).find("given twice"), std::string::npos);
}

std::vector<TensorType> infer_reduce_sum(const TensorType& axes, int64_t keepdims) {
  const TensorType x = parse_type("f32[2,3,4]");
  const TensorType* operands[] = {&x, &axes};
  const Tensor* constants[] = {nullptr, nullptr};
  return infer_results(ops::get("reduce_sum"), operands, constants, {{"keepdims", keepdims}});
}

TEST(Reduce, TheRankFollowsFromTheNumberOfComputedAxes) {
  EXPECT_EQ(infer_reduce_sum(parse_type("i64[2]"), 0)[0].rank(), 1u);
  EXPECT_EQ(infer_reduce_sum(parse_type("i64[2]"), 1)[0].rank(), 3u);
  EXPECT_TRUE(infer_reduce_sum(parse_type("i64[2]"), 1)[0].shape[1].is_unknown());
  EXPECT_EQ(infer_reduce_sum(parse_type("i64[0]"), 1)[0].shape, (Shape{1, 1, 1}));
  EXPECT_FALSE(infer_reduce_sum(parse_type("i64[N]"), 0)[0].ranked);
}

TEST(Reduce, BooleansHaveExtremesAndNoSum) {
  const Tensor x = Tensor::of<bool>({2, 2}, {false, true, false, false});
  EXPECT_EQ(call("reduce_max", {x}, {{"axes", Ints{1}}}).to_integers(), (Ints{1, 0}));
  EXPECT_EQ(call("reduce_min", {x}, {{"axes", Ints{0}}}).to_integers(), (Ints{0, 0}));
  EXPECT_NE(error_of("reduce_sum", {x}).find("Insert a cast"), std::string::npos);
}

TEST(Reduce, IntegersStayExact) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(call("reduce_sum", {i64({2}, {big, 1})}).to_integers(), (Ints{big + 1}));
  EXPECT_EQ(call("reduce_max", {i64({2}, {big, big - 1})}).to_integers(), (Ints{big}));
}

TEST(Argmax, TheFirstOfEqualsAndTheFirstNanWin) {
  EXPECT_EQ(call("argmax", {f32({2, 3}, {1, 5, 5, 9, 2, 3})}).to_integers(), (Ints{1, 0}));
  EXPECT_EQ(call("argmax", {f32({3}, {1, std::nanf(""), 9})}).to_integers(), (Ints{1}));
  EXPECT_EQ(call("argmin", {f32({2, 3}, {1, 5, 1, 9, 2, 3})}).to_integers(), (Ints{0, 1}));
  EXPECT_EQ(call("argmin", {f32({3}, {1, std::nanf(""), 0})}).to_integers(), (Ints{1}));
  EXPECT_EQ(call("argmax", {f32({2, 1}, {1, 5})}, {{"axis", int64_t{0}}, {"keepdims", int64_t{1}}}).shape(),
            (Sizes64{1, 1}));
}

TEST(Argmax, TheLastOfEqualsWhereAskedFor) {
  const Attributes last{{"select_last_index", int64_t{1}}};
  EXPECT_EQ(call("argmax", {f32({2, 3}, {1, 5, 5, 9, 2, 3})}, last).to_integers(), (Ints{2, 0}));
  EXPECT_EQ(call("argmax", {f32({3}, {std::nanf(""), std::nanf(""), 9})}, last).to_integers(), (Ints{1}));
}

TEST(Argmax, IntegersStayExact) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(call("argmax", {i64({2}, {big, big + 1})}).to_integers(), (Ints{1}));
  EXPECT_EQ(call("argmax", {Tensor::of<uint64_t>({2}, {1, ~uint64_t{0}})}).to_integers(), (Ints{1}));
}

TEST(Cumsum, IncludesTheElementOrNotFromEitherEnd) {
  const Tensor x = f32({3}, {1, 2, 3});
  const Attributes exclusive{{"exclusive", int64_t{1}}}, reverse{{"reverse", int64_t{1}}},
      both{{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}};
  EXPECT_EQ(call("cumsum", {x}).to_floats(), (Floats{1, 3, 6}));
  EXPECT_EQ(call("cumsum", {x}, exclusive).to_floats(), (Floats{0, 1, 3}));
  EXPECT_EQ(call("cumsum", {x}, reverse).to_floats(), (Floats{6, 5, 3}));
  EXPECT_EQ(call("cumsum", {x}, both).to_floats(), (Floats{5, 3, 0}));
  EXPECT_EQ(call("cumsum", {f32({2, 2}, {1, 2, 3, 4}), i64({}, {0})}).to_floats(), (Floats{1, 2, 4, 6}));
  EXPECT_NE(error_of("cumsum", {x, i64({1}, {1})}).find("axis 1 does not exist"), std::string::npos);
}

TEST(Cumprod, IncludesTheElementOrNotFromEitherEnd) {
  const Tensor x = f32({3}, {1, 2, 3});
  const Attributes exclusive{{"exclusive", int64_t{1}}}, both{{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}};
  EXPECT_EQ(call("cumprod", {x}).to_floats(), (Floats{1, 2, 6}));
  EXPECT_EQ(call("cumprod", {x}, exclusive).to_floats(), (Floats{1, 1, 2}));
  EXPECT_EQ(call("cumprod", {x}, both).to_floats(), (Floats{6, 3, 1}));
  const int64_t big = int64_t{1} << 62;
  EXPECT_EQ(call("cumprod", {i64({2}, {big, 4})}).to_integers(), (Ints{big, 0}));
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

TEST(NllLoss, WeighsTheLogLikelihoodOfEachLabel) {
  const Tensor x = f32({1, 2, 3}, {-1, -2, -3, -4, -5, -6}), labels = i64({1, 3}, {0, 1, 1}), weight = f32({2}, {1, 3});
  const Attributes none{{"reduction", std::string("none")}}, sum{{"reduction", std::string("sum")}};
  EXPECT_EQ(call("nll_loss", {x, labels}, none).to_floats(), (Floats{1, 5, 6}));
  EXPECT_EQ(call("nll_loss", {x, labels, weight}, sum).to_floats(), (Floats{34}));
  EXPECT_EQ(call("nll_loss", {x, labels}).to_floats(), (Floats{4}));
  EXPECT_FLOAT_EQ(call("nll_loss", {x, labels, weight}).to_floats()[0], 34.0f / 7);
  EXPECT_EQ(call("nll_loss", {x, labels}, {{"ignore_index", int64_t{1}}}).to_floats(), (Floats{1}));
  EXPECT_NE(error_of("nll_loss", {x, i64({1, 3}, {0, 2, 0})}).find("label 2 at position 1"), std::string::npos);
}

}  // namespace
}  // namespace hone
