// Values of quantize_linear and dequantize_linear that a person can check.
#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

const Attributes kToU8{{"dtype", DType::u8}}, kToI8{{"dtype", DType::i8}}, kToF32{{"dtype", DType::f32}};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor u8(std::vector<int64_t> shape, const std::vector<uint8_t>& values) {
  return Tensor::of<uint8_t>(std::move(shape), values);
}
Tensor i8(std::vector<int64_t> shape, const std::vector<int8_t>& values) {
  return Tensor::of<int8_t>(std::move(shape), values);
}

TEST(QuantizeLinear, TiesGoToEvenAndTheZeroPointIsAddedAfterRounding) {
  const Tensor x = f32({4}, {1, 3, 5, -1});
  EXPECT_EQ(call("quantize_linear", {x, f32({}, {2})}, kToI8).to_integers(), (Ints{0, 2, 2, 0}));
  EXPECT_EQ(call("quantize_linear", {x, f32({}, {2}), u8({}, {1})}, kToU8).to_integers(), (Ints{1, 3, 3, 1}));
}

TEST(QuantizeLinear, ResultsSaturateAtTheBoundsOfTheType) {
  const Tensor x = f32({5}, {-1000, 1000, 1e30f, kInfinity, -kInfinity});
  EXPECT_EQ(call("quantize_linear", {x, f32({}, {1})}, kToI8).to_integers(), (Ints{-128, 127, 127, 127, -128}));
  EXPECT_EQ(call("quantize_linear", {x, f32({}, {1}), u8({}, {128})}, kToU8).to_integers(),
            (Ints{0, 255, 255, 255, 0}));
  EXPECT_EQ(call("quantize_linear", {x, f32({}, {0.01f})}, {{"dtype", DType::i16}}).to_integers(),
            (Ints{-32768, 32767, 32767, 32767, -32768}));
}

TEST(QuantizeLinear, EachChannelHasItsOwnScaleAndZeroPoint) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(call("quantize_linear", {x, f32({2, 1}, {1, 0.5f}), i8({2, 1}, {0, -10})}, kToI8).to_integers(),
            (Ints{1, 2, -4, -2}));
}

TEST(QuantizeLinear, TheElementTypeOfTheResultIsRequiredAndBooleansAreNoScales) {
  EXPECT_NE(error_of("quantize_linear", {f32({}, {1}), f32({}, {1})}).find("dtype"), std::string::npos);
  EXPECT_NE(error_of("quantize_linear", {f32({}, {1}), i64({}, {1})}, kToU8).find("operand 1"), std::string::npos);
}

TEST(DequantizeLinear, DifferencesOfCodesMayBeNegative) {
  EXPECT_EQ(call("dequantize_linear", {u8({3}, {0, 128, 255}), f32({}, {0.5f}), u8({}, {128})}, kToF32).to_floats(),
            (Floats{-64, 0, 63.5f}));
  EXPECT_EQ(call("dequantize_linear", {i8({2}, {-128, 127}), f32({}, {2}), i8({}, {127})}, kToF32).to_floats(),
            (Floats{-510, 0}));
}

TEST(DequantizeLinear, AFloatZeroPointAndAnAccumulatorOf32Bits) {
  EXPECT_EQ(call("dequantize_linear", {u8({2}, {0, 15}), f32({}, {2}), f32({}, {7.5f})}, kToF32).to_floats(),
            (Floats{-15, 15}));
  EXPECT_EQ(call("dequantize_linear", {Tensor::of<int32_t>({1}, {-100000}), f32({}, {0.5f})}, kToF32).to_floats(),
            (Floats{-50000}));
}

TEST(DequantizeLinear, TheProductIsRoundedOnceToANarrowResult) {
  const Tensor y = call("dequantize_linear", {u8({1}, {3}), f32({}, {0.1f})}, {{"dtype", DType::f16}});
  EXPECT_EQ(y.dtype(), DType::f16);
  EXPECT_EQ(y.to_floats(), Tensor::from_floats(DType::f16, {1}, Floats{3 * 0.1f}).to_floats());
}

}  // namespace
}  // namespace hone
