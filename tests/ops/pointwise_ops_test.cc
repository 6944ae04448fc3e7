// Values of pointwise ops that a person can check.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

float unary(const char* op, float x, const Attributes& attributes = {}) {
  return call(op, {f32({}, {x})}, attributes).to_floats()[0];
}
float binary(const char* op, float a, float b) { return call(op, {f32({}, {a}), f32({}, {b})}).to_floats()[0]; }
bool compares(const char* op, float a, float b) { return call(op, {f32({}, {a}), f32({}, {b})}).to_integers()[0] != 0; }
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(PointwiseOps, Arithmetic) {
  EXPECT_EQ(binary("add", 1.5f, 2), 3.5f);
  EXPECT_EQ(binary("sub", 1.5f, 2), -0.5f);
  EXPECT_EQ(binary("mul", 1.5f, 2), 3);
  EXPECT_EQ(binary("div", 3, 2), 1.5f);
  EXPECT_EQ(binary("min", 3, 2), 2);
  EXPECT_EQ(binary("max", 3, 2), 3);
  EXPECT_TRUE(std::isnan(binary("max", 3, kNan)));
  EXPECT_EQ(binary("pow", 3, 4), 81);
  EXPECT_EQ(unary("neg", 3), -3);
  EXPECT_EQ(unary("abs", -3), 3);
  EXPECT_EQ(unary("reciprocal", 4), 0.25f);
  EXPECT_EQ(unary("sign", -4), -1);
  EXPECT_EQ(unary("sign", 0), 0);
  EXPECT_EQ(unary("sign", 9), 1);
}

TEST(PointwiseOps, IntegersDivideTowardZeroAndKeepTheirType) {
  const Tensor quotient = call("div", {i64({3}, {7, -7, 7}), i64({3}, {2, 2, 0})});
  EXPECT_EQ(quotient.dtype(), DType::i64);
  EXPECT_EQ(quotient.to_integers(), (Ints{3, -3, 0}));
  EXPECT_EQ(call("abs", {Tensor::of<uint8_t>({1}, {200})}).to_integers(), (Ints{200}));
  EXPECT_EQ(call("sign", {Tensor::of<uint8_t>({2}, {200, 0})}).to_integers(), (Ints{1, 0}));
}

TEST(PointwiseOps, RootsAndExponentials) {
  EXPECT_EQ(unary("sqrt", 9), 3);
  EXPECT_EQ(unary("rsqrt", 16), 0.25f);
  EXPECT_EQ(unary("exp", 0), 1);
  EXPECT_FLOAT_EQ(unary("log", 2.7182818f), 1);
  EXPECT_FLOAT_EQ(unary("tanh", 0.5f), 0.46211716f);
  EXPECT_FLOAT_EQ(unary("erf", 0.5f), 0.52049988f);
  EXPECT_FLOAT_EQ(unary("sin", 1), 0.84147098f);
  EXPECT_FLOAT_EQ(unary("cos", 1), 0.54030231f);
}

TEST(PointwiseOps, Rounding) {
  EXPECT_EQ(unary("floor", -1.5f), -2);
  EXPECT_EQ(unary("ceil", -1.5f), -1);
  EXPECT_EQ(unary("round", 2.5f), 2);
  EXPECT_EQ(unary("round", 3.5f), 4);
  EXPECT_EQ(unary("clip", 5, {{"min", -1.0}, {"max", 2.0}}), 2);
  EXPECT_EQ(unary("clip", -5, {{"min", -1.0}}), -1);
  EXPECT_EQ(unary("clip", 5), 5);
}

TEST(PointwiseOps, Activations) {
  EXPECT_EQ(unary("relu", -2), 0);
  EXPECT_EQ(unary("relu", 2), 2);
  EXPECT_EQ(unary("leaky_relu", -2), -2 * 0.01f);
  EXPECT_EQ(unary("leaky_relu", -2, {{"alpha", 0.5}}), -1);
  EXPECT_FLOAT_EQ(unary("gelu", 1), 0.84134475f);  // the normal distribution's Φ(1)
  EXPECT_FLOAT_EQ(unary("gelu", 1, {{"approximate", std::string("tanh")}}), 0.84119199f);
  EXPECT_EQ(unary("sigmoid", 0), 0.5f);
  EXPECT_FLOAT_EQ(unary("silu", 1), 0.73105858f);
  EXPECT_FLOAT_EQ(unary("hard_sigmoid", 1), 0.7f);
  EXPECT_EQ(unary("hard_sigmoid", 9), 1);
  EXPECT_EQ(unary("hard_sigmoid", -9), 0);
  EXPECT_EQ(unary("hard_swish", 4), 4);
  EXPECT_EQ(unary("hard_swish", -4), 0);
  EXPECT_FLOAT_EQ(unary("softplus", 0), 0.69314718f);
  EXPECT_EQ(unary("softplus", 1000), 1000);
}

TEST(PointwiseOps, ComparisonsGiveBoolAndAreFalseForNan) {
  EXPECT_TRUE(compares("equal", 2, 2));
  EXPECT_TRUE(compares("not_equal", 2, 3));
  EXPECT_TRUE(compares("greater", 3, 2));
  EXPECT_TRUE(compares("greater_or_equal", 3, 3));
  EXPECT_TRUE(compares("less", 2, 3));
  EXPECT_TRUE(compares("less_or_equal", 2, 2));
  for (const char* op : {"equal", "greater", "greater_or_equal", "less", "less_or_equal"})
    EXPECT_FALSE(compares(op, kNan, 1)) << op;
  EXPECT_TRUE(compares("not_equal", kNan, kNan));
  EXPECT_EQ(call("less", {f32({}, {1}), f32({}, {2})}).dtype(), DType::boolean);
}

TEST(PointwiseOps, Logic) {
  const Tensor a = Tensor::of<bool>({4}, {false, false, true, true}),
               b = Tensor::of<bool>({4}, {false, true, false, true});
  EXPECT_EQ(call("logical_and", {a, b}).to_integers(), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(call("logical_or", {a, b}).to_integers(), (Ints{0, 1, 1, 1}));
  EXPECT_EQ(call("logical_xor", {a, b}).to_integers(), (Ints{0, 1, 1, 0}));
  EXPECT_EQ(call("logical_not", {a}).to_integers(), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(call("where", {b, f32({4}, {1, 2, 3, 4}), f32({}, {9})}).to_floats(), (Floats{9, 2, 9, 4}));
}

TEST(PointwiseOps, CastsRoundTruncateAndSaturate) {
  EXPECT_EQ(call("cast", {f32({4}, {1.9f, -1.9f, 300, -300})}, {{"dtype", DType::i8}}).to_integers(),
            (Ints{1, -1, 127, -128}));
  EXPECT_EQ(call("cast", {f32({2}, {-3, kNan})}, {{"dtype", DType::u8}}).to_integers(), (Ints{0, 0}));
  EXPECT_EQ(call("cast", {i64({2}, {257, -1})}, {{"dtype", DType::u8}}).to_integers(), (Ints{1, 255}));
  EXPECT_EQ(call("cast", {f32({1}, {1 + 0x1p-8f})}, {{"dtype", DType::bf16}}).to_floats(),
            (Floats{1}));  // a tie: to even
  EXPECT_EQ(call("cast", {f32({2}, {0, 0.5f})}, {{"dtype", DType::boolean}}).to_integers(), (Ints{0, 1}));
}

TEST(PointwiseOps, BroadcastLikeNumPy) {
  const Tensor sum = call("add", {f32({2, 1}, {10, 20}), f32({3}, {1, 2, 3})});
  EXPECT_EQ(sum.shape(), (Sizes64{2, 3}));
  EXPECT_EQ(sum.to_floats(), (Floats{11, 12, 13, 21, 22, 23}));
}

TEST(PointwiseOps, WrongElementTypesAreErrorsThatNameThem) {
  EXPECT_NE(error_of("exp", {i64({1}, {1})}).find("i64"), std::string::npos);
  EXPECT_NE(error_of("logical_not", {f32({1}, {1})}).find("accepted: bool"), std::string::npos);
  EXPECT_NE(error_of("add", {f32({1}, {1}), i64({1}, {1})}).find("Insert a cast"), std::string::npos);
  EXPECT_NE(error_of("add", {Tensor::of<bool>({1}, {true}), Tensor::of<bool>({1}, {true})}).find("accepted: numbers"),
            std::string::npos);
  EXPECT_NE(error_of("gelu", {f32({1}, {1})}, {{"approximate", std::string("erf")}}).find("accepted: none, tanh"),
            std::string::npos);
  EXPECT_NE(error_of("clip", {i64({1}, {1})}, {{"min", 0.5}}).find("not a whole number"), std::string::npos);
  EXPECT_NE(error_of("add", {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}), "");
}

TEST(PointwiseOps, PowersOfIntegersAreExact) {
  const Tensor base = i64({7}, {3, -2, -1, 0, 2, -1, 5}), exponent = i64({7}, {39, 3, 1001, 64, -1, -3, 0});
  EXPECT_EQ(call("pow", {base, exponent}).to_integers(), (Ints{4052555153018976267, -8, -1, 0, 0, -1, 1}));
  EXPECT_EQ(call("pow", {Tensor::of<uint8_t>({1}, {3}), Tensor::of<uint8_t>({1}, {5})}).to_integers(), (Ints{243}));
}

TEST(PointwiseOps, RemaindersHaveTheSignOfTheDividendOrOfTheDivisor) {
  const Tensor a = i64({4}, {7, -7, 7, -7}), b = i64({4}, {3, 3, -3, -3});
  EXPECT_EQ(call("fmod", {a, b}).to_integers(), (Ints{1, -1, 1, -1}));
  EXPECT_EQ(call("mod", {a, b}).to_integers(), (Ints{1, 2, -2, -1}));
  EXPECT_EQ(call("mod", {Tensor::of<uint8_t>({1}, {200}), Tensor::of<uint8_t>({1}, {7})}).to_integers(), (Ints{4}));
  EXPECT_EQ(binary("fmod", -7.5f, 2), -1.5f);
  EXPECT_EQ(binary("mod", -7.5f, 2), 0.5f);
  EXPECT_EQ(binary("fmod", 5, INFINITY), 5);
  EXPECT_TRUE(std::isnan(binary("fmod", 5, 0)));
  EXPECT_TRUE(std::isnan(binary("fmod", INFINITY, 2)));
}

TEST(PointwiseOps, RemaindersOfFloatsAreExactForLargeQuotients) {
  for (const auto& [a, b] : {std::pair(1e13f, 0.3f), {16777215.0f, 0.1f}, {-1e9f, 7.7f}, {8388609.5f, 2.9999998f}})
    EXPECT_EQ(binary("fmod", a, b), std::fmod(a, b)) << a << " mod " << b;
  EXPECT_EQ(call("fmod", {Tensor::scalar(1e30), Tensor::scalar(0.1)}).to_doubles(), (Doubles{std::fmod(1e30, 0.1)}));
  EXPECT_TRUE(std::isnan(binary("fmod", 1e30f, 1e-5f)));
}

TEST(PointwiseOps, BitsOfIntegers) {
  EXPECT_EQ(call("bitwise_and", {i64({1}, {12}), i64({1}, {10})}).to_integers(), (Ints{8}));
  EXPECT_EQ(call("bitwise_or", {i64({1}, {12}), i64({1}, {10})}).to_integers(), (Ints{14}));
  EXPECT_EQ(call("bitwise_xor", {i64({1}, {12}), i64({1}, {10})}).to_integers(), (Ints{6}));
  EXPECT_EQ(call("bitwise_not", {Tensor::of<uint8_t>({1}, {5})}).to_integers(), (Ints{250}));
  const Attributes left{{"direction", std::string("left")}}, right{{"direction", std::string("right")}};
  const Tensor bytes = Tensor::of<uint8_t>({4}, {1, 129, 255, 16}), counts = Tensor::of<uint8_t>({4}, {3, 1, 8, 40});
  EXPECT_EQ(call("bit_shift", {bytes, counts}, left).to_integers(), (Ints{8, 2, 0, 0}));
  EXPECT_EQ(call("bit_shift", {bytes, counts}, right).to_integers(), (Ints{0, 64, 0, 0}));
  EXPECT_EQ(call("bit_shift", {i64({2}, {-8, -8}), i64({2}, {1, -1})}, right).to_integers(), (Ints{-4, -1}));
  EXPECT_NE(error_of("bitwise_not", {f32({1}, {1})}).find("accepted: integers"), std::string::npos);
}

TEST(PointwiseOps, InfinitiesAndNanAreFound) {
  const Tensor x = f32({4}, {INFINITY, -INFINITY, kNan, 1});
  EXPECT_EQ(call("is_nan", {x}).to_integers(), (Ints{0, 0, 1, 0}));
  EXPECT_EQ(call("is_inf", {x}).to_integers(), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(call("is_inf", {x}, {{"detect_negative", int64_t{0}}}).to_integers(), (Ints{1, 0, 0, 0}));
  EXPECT_EQ(call("is_inf", {x}, {{"detect_positive", int64_t{0}}}).to_integers(), (Ints{0, 1, 0, 0}));
}

TEST(PointwiseOps, FurtherActivations) {
  EXPECT_FLOAT_EQ(unary("elu", -1, {{"alpha", 2.0}}), 2 * std::expm1(-1.0f));
  EXPECT_EQ(unary("elu", 3), 3);
  EXPECT_FLOAT_EQ(unary("celu", -1, {{"alpha", 2.0}}), 2 * std::expm1(-0.5f));
  EXPECT_FLOAT_EQ(unary("selu", 2, {{"gamma", 3.0}}), 6);
  EXPECT_FLOAT_EQ(unary("selu", -1, {{"alpha", 2.0}, {"gamma", 3.0}}), 6 * std::expm1(-1.0f));
  EXPECT_FLOAT_EQ(unary("mish", 1), std::tanh(std::log1p(std::exp(1.0f))));
  EXPECT_EQ(unary("softsign", -3), -0.75f);
  EXPECT_EQ(unary("thresholded_relu", 1), 0);
  EXPECT_EQ(unary("thresholded_relu", 1.5f), 1.5f);
  EXPECT_EQ(unary("shrink", -2, {{"threshold", 1.5}, {"bias", 0.5}}), -1.5f);
  EXPECT_EQ(unary("shrink", 1, {{"threshold", 1.5}}), 0);
  EXPECT_FLOAT_EQ(unary("silu", 1, {{"alpha", 2.0}}), 1 / (1 + std::exp(-2.0f)));
  EXPECT_EQ(binary("prelu", -2, 0.5f), -1);
  EXPECT_EQ(binary("prelu", 2, 0.5f), 2);
}

TEST(PointwiseOps, SmallFloatsSaturateOrNot) {
  const Tensor x = f32({3}, {1.5f, 1e9f, -INFINITY});
  const auto as = [&](const char* op, DType dtype) { return call(op, {x}, {{"dtype", dtype}}).to_floats(); };
  EXPECT_EQ(as("cast", DType::f8e5m2), (Floats{1.5f, 57344, -57344}));
  EXPECT_EQ(as("cast_unsaturated", DType::f8e5m2), (Floats{1.5f, INFINITY, -INFINITY}));
  EXPECT_EQ(as("cast", DType::f8e4m3fn)[1], 448);
  EXPECT_TRUE(std::isnan(as("cast_unsaturated", DType::f8e4m3fn)[1]));
  EXPECT_NE(error_of("cast_unsaturated", {x}, {{"dtype", DType::f16}}).find("dtype is f16"), std::string::npos);
}

TEST(CastToPowers, RoundsAsAskedAndSaturatesOrNot) {
  const Tensor x = f32({4}, {3, 0, INFINITY, -1});
  const auto as = [&](const char* round, int64_t saturate) {
    return call("cast_to_powers", {x}, {{"round", std::string(round)}, {"saturate", saturate}}).to_floats();
  };
  EXPECT_EQ(as("up", 1)[0], 4);
  EXPECT_EQ(as("down", 1)[0], 2);
  EXPECT_EQ(as("up", 1)[1], 0x1p-127f);
  EXPECT_EQ(as("nearest", 1)[2], 0x1p127f);
  EXPECT_TRUE(std::isnan(as("nearest", 0)[1]) && std::isnan(as("nearest", 0)[2]) && std::isnan(as("up", 1)[3]));
  EXPECT_NE(error_of("cast_to_powers", {x}, {{"round", std::string("odd")}}).find("accepted: up, down, nearest"),
            std::string::npos);
}

TEST(BitCast, KeepsBitsAndRefusesOtherWidths) {
  const auto as = [](const Tensor& x, DType dtype) { return call("bit_cast", {x}, {{"dtype", dtype}}); };
  EXPECT_EQ(as(f32({1}, {1}), DType::i32).to_integers(), (Ints{0x3f800000}));
  EXPECT_EQ(as(i64({2}, {15, 7}).converted(DType::u4), DType::i4).to_integers(), (Ints{-1, 7}));
  EXPECT_EQ(as(i64({1}, {-1}).converted(DType::i2), DType::u2).to_integers(), (Ints{3}));
  EXPECT_EQ(as(i64({2}, {0, 6}).converted(DType::u8), DType::boolean).to_integers(), (Ints{0, 1}));
  EXPECT_NE(error_of("bit_cast", {f32({1}, {1})}, {{"dtype", DType::f64}}).find("have 32 bits"), std::string::npos);
  EXPECT_NE(error_of("bit_cast", {f32({1}, {1})}, {{"dtype", DType::string}}), "");
}

TEST(Mod, ZerosHaveTheSignOfTheDivisor) {
  const Floats zeros = call("mod", {f32({2}, {0, -4}), f32({2}, {-3, 2})}).to_floats();
  EXPECT_TRUE(zeros[0] == 0 && std::signbit(zeros[0]));
  EXPECT_TRUE(zeros[1] == 0 && !std::signbit(zeros[1]));
}

}  // namespace
}  // namespace hone
