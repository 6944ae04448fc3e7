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

}  // namespace
}  // namespace hone
