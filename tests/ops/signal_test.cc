// Transforms and windows on numbers that a person can check.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/call.h"

namespace hone {
namespace {

void expect_near(const Tensor& found, const Floats& wanted) {
  const Floats values = found.to_floats();
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-6) << "element " << i;
}

const Tensor kRamp = f32({4, 1}, {1, 2, 3, 4}), kSpectrum = f32({4, 2}, {10, 0, -2, 2, -2, 0, -2, -2});

TEST(Dft, OfARampAndBack) {
  EXPECT_EQ(call("dft", {kRamp}).shape(), (Sizes64{4, 2}));
  expect_near(call("dft", {kRamp}), {10, 0, -2, 2, -2, 0, -2, -2});
  expect_near(call("dft", {kSpectrum}, {{"inverse", int64_t{1}}}), {1, 0, 2, 0, 3, 0, 4, 0});
}

TEST(Dft, OnesidedGivesTheLowerBinsAndTakesThemBack) {
  const Attributes onesided{{"onesided", int64_t{1}}}, back{{"onesided", int64_t{1}}, {"inverse", int64_t{1}}};
  expect_near(call("dft", {kRamp}, onesided), {10, 0, -2, 2, -2, 0});
  const Tensor bins = f32({3, 2}, {10, 0, -2, 2, -2, 0});
  EXPECT_EQ(call("dft", {bins}, back).shape(), (Sizes64{4, 1}));
  expect_near(call("dft", {bins}, back), {1, 2, 3, 4});
  expect_near(call("dft", {f32({2, 2}, {6, 0, 0, 0}), i64({}, {3})}, back), {2, 2, 2});  // an odd length
}

TEST(Dft, CutsOrPadsToTheLength) {
  expect_near(call("dft", {kRamp}, {{"length", Shape{2}}}), {3, 0, -1, 0});
  expect_near(call("dft", {f32({1, 1}, {5}), i64({1}, {3})}), {5, 0, 5, 0, 5, 0});
}

TEST(Dft, TransformsTheAxisThatIsAskedFor) {
  const Tensor x = f32({2, 2, 1}, {1, 2, 3, 5});
  expect_near(call("dft", {x}, {{"axis", Shape{0}}}), {4, 0, 7, 0, -2, 0, -3, 0});
  expect_near(call("dft", {x}, {{"axis", Shape{-2}}}), {3, 0, -1, 0, 8, 0, -2, 0});
  EXPECT_NE(error_of("dft", {x}, {{"axis", Shape{2}}}).find("holds real and imaginary parts"), std::string::npos);
}

TEST(Dft, SaysWhatDoesNotFit) {
  EXPECT_NE(error_of("dft", {f32({2, 3}, Floats(6))}).find("the last dimension of x is 3"), std::string::npos);
  EXPECT_NE(error_of("dft", {kSpectrum}, {{"onesided", int64_t{1}}}).find("is 2 but must be 1"), std::string::npos);
  EXPECT_NE(error_of("dft", {kRamp}, {{"length", Shape{0}}}).find("length is 0"), std::string::npos);
}

std::string type_of(const char* op, const std::vector<std::string>& operands, const Attributes& attributes) {
  std::vector<TensorType> types;
  std::vector<const TensorType*> pointers;
  for (const std::string& operand : operands) types.push_back(parse_type(operand));
  for (const TensorType& type : types) pointers.push_back(&type);
  return to_string(infer_results(ops::get(op), pointers, std::vector<const Tensor*>(types.size()), attributes)[0]);
}

TEST(Dft, KnowsItsTypeForSymbolicLengths) {
  EXPECT_EQ(type_of("dft", {"f16[B,N,1]"}, {{"onesided", int64_t{1}}}), "f16[B,N/2+1,2]");
  EXPECT_EQ(type_of("stft", {"f32[B,N,1]", "f32[16]"}, {{"step", Shape{8}}}), "f32[B,N/8-1,9,2]");
}

// Frames 1,2 and 3,4, then 1,2 and 2,3 and 3,4 in a window that turns the second sample's sign.
TEST(Stft, TransformsWindowedFrames) {
  const Tensor signal = f32({1, 4, 1}, {1, 2, 3, 4});
  const Tensor apart = call("stft", {signal}, {{"step", Shape{2}}, {"length", Shape{2}}});
  EXPECT_EQ(apart.shape(), (Sizes64{1, 2, 2, 2}));
  expect_near(apart, {3, 0, -1, 0, 7, 0, -1, 0});
  const Tensor windowed = call("stft", {signal, f32({2}, {1, -1})}, {{"step", Shape{1}}, {"onesided", int64_t{0}}});
  expect_near(windowed, {-1, 0, 3, 0, -1, 0, 5, 0, -1, 0, 7, 0});
}

TEST(Stft, SaysWhatDoesNotFit) {
  const Tensor signal = f32({1, 4, 1}, {1, 2, 3, 4});
  EXPECT_NE(error_of("stft", {signal}, {{"step", Shape{1}}, {"length", Shape{5}}}).find("a frame has 5 elements"),
            std::string::npos);
  EXPECT_NE(error_of("stft", {signal, f32({2}, {1, 1})}, {{"step", Shape{1}}, {"length", Shape{3}}})
                .find("the length of the window"),
            std::string::npos);
  EXPECT_NE(error_of("stft", {signal}).find("step"), std::string::npos);
}

TEST(CosineWindow, IsHannsPeriodicOrSymmetric) {
  Attributes hann{{"coefficients", Doubles{0.5, -0.5}}, {"size", Shape{4}}};
  expect_near(call("cosine_window", {}, hann), {0, 0.5f, 1, 0.5f});
  hann.set("periodic", int64_t{0});
  expect_near(call("cosine_window", {}, hann), {0, 0.75f, 0.75f, 0});
  hann.set("size", Shape{1});
  expect_near(call("cosine_window", {}, hann), {0});
}

// Edges of two bands from 0 to 4 kHz over 17 bins of 500 Hz: mel(4000) / 4 · (0, 1, 2, 3) is 0, 427, 1114 and 2220 Hz,
// times 33/16000 bins 0, 0, 2 and 4.
TEST(MelWeightMatrix, HasATriangleInEachColumn) {
  const auto matrix = [](float low, float high) {
    return std::vector<Tensor>{i64({}, {2}), i64({}, {32}), i64({}, {16000}), f32({}, {low}), f32({}, {high})};
  };
  const Tensor weights = call("mel_weight_matrix", matrix(0, 4000));
  EXPECT_EQ(weights.shape(), (Sizes64{17, 2}));
  const Floats values = weights.to_floats(), head(values.begin(), values.begin() + 10);
  EXPECT_EQ(head, (Floats{1, 0, 0.5f, 0.5f, 0, 1, 0, 0.5f, 0, 0}));
  EXPECT_NE(error_of("mel_weight_matrix", matrix(0, 9000)).find("half the sample rate"), std::string::npos);
}

}  // namespace
}  // namespace hone
