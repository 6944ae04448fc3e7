// Convolutions, pools, resizing, sampling and boxes on numbers that a person can check.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/ops/call.h"

namespace hone {
namespace {

const Tensor kThreeByThree = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});

// As call(), with absent operands.
Tensor call_some(const char* op, const std::vector<std::optional<Tensor>>& operands, const Attributes& attributes) {
  std::vector<const Tensor*> pointers;
  for (const std::optional<Tensor>& operand : operands) pointers.push_back(operand ? &*operand : nullptr);
  return evaluate_node(ops::get(op), pointers, attributes).at(0);
}

// The type that an op's rule gives for operands of these types, in its text form.
std::string type_of(const char* op, const std::vector<const char*>& operands, const Attributes& attributes) {
  Graph graph;
  std::vector<ValueId> values;
  for (const char* type : operands)
    values.push_back(graph.add_input(fmt::format("{}", values.size()), parse_type(type)));
  return to_string(graph.type(graph.emit(ops::get(op), values, attributes)));
}

void expect_near(const Tensor& found, const Floats& wanted) {
  const Floats values = found.to_floats();
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << i;
}

TEST(Conv, SlidesTheWindowOverPaddedRows) {
  const Tensor ones = f32({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(call("conv", {kThreeByThree, ones}).to_floats(), (Floats{12, 16, 24, 28}));
  EXPECT_EQ(call("conv", {kThreeByThree, ones, f32({1}, {100})}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}})
                .to_floats(),
            (Floats{101, 105, 111, 128}));
  EXPECT_EQ(call("conv", {kThreeByThree, ones}, {{"dilations", Ints{2, 2}}}).to_floats(), (Floats{20}));
  EXPECT_NE(error_of("conv", {kThreeByThree, f32({1, 1, 4, 4}, Floats(16))}).find("reaches over 4"), std::string::npos);
}

TEST(Conv, HasOneToThreeSpatialDimensions) {
  EXPECT_EQ(call("conv", {f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {1, 10})}, {{"strides", Ints{2}}}).to_floats(),
            (Floats{21, 43}));
  EXPECT_EQ(call("conv", {f32({1, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), f32({1, 1, 2, 1, 1}, {1, 1})}).to_floats(),
            (Floats{4, 6, 8, 10}));
  EXPECT_NE(error_of("conv", {f32({1, 1}, {1}), f32({1, 1}, {1})}).find("accepted: 3 to 5"), std::string::npos);
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
  const Tensor x = f32({1, 2, 1, 1}, {3, 5}), w = f32({2, 1, 1, 1}, {10, 100});
  EXPECT_EQ(call("conv", {x, w}, {{"groups", int64_t{2}}}).to_floats(), (Floats{30, 500}));
  EXPECT_NE(error_of("conv", {x, w}).find("must be 2"), std::string::npos);
}

TEST(Conv, OfIntegersSeesACodeOutsideX) {
  const auto whole = [](DType dtype, const Ints& shape, const Floats& values) {
    return f32(shape, values).converted(dtype);
  };
  const Tensor x = whole(DType::u8, {1, 1, 2}, {1, 2}), w = whole(DType::i8, {1, 1, 2}, {1, 10}),
               b = whole(DType::i32, {1}, {1}), zero = whole(DType::u8, {}, {7});
  EXPECT_EQ(call("conv", {x, w, b, zero}, {{"pads", Ints{1, 1}}}).to_floats(), (Floats{18, 22, 73}));
  const auto error = [&](const Tensor& code) { return error_of("conv", {x, w, b, code}); };
  EXPECT_NE(error(whole(DType::i8, {}, {7})).find("x_zero is i8[] beside x u8"), std::string::npos);
  EXPECT_NE(error(whole(DType::u8, {1}, {7})).find("x_zero"), std::string::npos);
  EXPECT_NE(error_of("conv", {f32({1, 1, 2}, {1, 2}), f32({1, 1, 2}, {1, 2}), f32({1}, {0}), f32({}, {0})})
                .find("beside floats"),
            std::string::npos);
}

TEST(Conv, SamePadsPutTheOddZeroWhereTheyAreTold) {
  const Tensor x = f32({1, 1, 3}, {1, 2, 3}), w = f32({1, 1, 2}, {1, 10});
  EXPECT_EQ(call("conv", {x, w}, {{"auto_pad", "same_upper"}}).to_floats(), (Floats{21, 32, 3}));
  EXPECT_EQ(call("conv", {x, w}, {{"auto_pad", "same_lower"}}).to_floats(), (Floats{10, 21, 32}));
  EXPECT_NE(error_of("conv", {x, w}, {{"auto_pad", "same"}}).find("accepted: none, same_upper"), std::string::npos);
  EXPECT_NE(error_of("conv", {x, w}, {{"auto_pad", "same_upper"}, {"pads", Ints{1, 0}}}).find("one of them"),
            std::string::npos);
}

TEST(Conv, SizesMayBeSymbols) {
  EXPECT_EQ(type_of("conv", {"f32[B,3,H,W]", "f32[8,3,3,3]"}, {{"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 1}}}),
            "f32[B,8,(H+1)/2,W]");
  EXPECT_EQ(type_of("conv", {"f32[B,3,H,W]", "f32[8,3,3,3]"}, {{"strides", Ints{2, 1}}, {"auto_pad", "same_upper"}}),
            "f32[B,8,(H+1)/2,W]");
  EXPECT_EQ(type_of("conv", {"f32[B,C,H]", "f32[8,C,K]"}, {}), "f32[B,8,H-K+1]");
}

TEST(ConvTranspose, SpreadsEachElementOverTheWindow) {
  const Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4}), row = f32({1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(call("conv_transpose", {x, f32({1, 1, 2, 2}, {1, 1, 1, 1}), f32({1}, {100})}).to_floats(),
            (Floats{101, 103, 102, 104, 110, 106, 103, 107, 104}));
  const Tensor w = f32({1, 1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(call("conv_transpose", {row, w}, {{"strides", Ints{1, 2}}}).to_floats(), (Floats{1, 10, 102, 20, 200}));
  EXPECT_EQ(call("conv_transpose", {row, w}, {{"strides", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 2}}}).to_floats(),
            (Floats{10, 102}));
  EXPECT_EQ(call("conv_transpose", {row, w}, {{"strides", Ints{1, 2}}, {"output_padding", Ints{1, 1}}}).to_floats(),
            (Floats{1, 10, 102, 20, 200, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ConvTranspose, CutsTheOddElementWhereItIsTold) {
  const Tensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 3}, {1, 10, 100});  // 1 10 102 20 200
  Attributes stride{{"strides", Ints{2}}};
  Attributes upper = stride, lower = stride, sized = stride, larger = stride;
  upper.set("auto_pad", "same_upper");
  lower.set("auto_pad", "same_lower");
  sized.set("output_shape", Shape{3});
  larger.set("output_shape", Shape{6});
  EXPECT_EQ(call("conv_transpose", {x, w}, upper).to_floats(), (Floats{1, 10, 102, 20}));
  EXPECT_EQ(call("conv_transpose", {x, w}, lower).to_floats(), (Floats{10, 102, 20, 200}));
  EXPECT_EQ(call("conv_transpose", {x, w}, sized).to_floats(), (Floats{10, 102, 20}));
  EXPECT_EQ(call("conv_transpose", {x, w}, larger).to_floats(), (Floats{1, 10, 102, 20, 200, 0}));
}

TEST(ConvTranspose, GroupsHaveTheirOwnOutputs) {
  const Tensor x = f32({1, 2, 1}, {3, 5}), w = f32({2, 2, 1}, {1, 10, 100, 1000});
  EXPECT_EQ(call("conv_transpose", {x, w}, {{"groups", int64_t{2}}}).to_floats(), (Floats{3, 30, 500, 5000}));
  EXPECT_EQ(call("conv_transpose", {x, w}).to_floats(), (Floats{503, 5030}));
  EXPECT_EQ(type_of("conv_transpose", {"f32[B,4,H]", "f32[4,2,3]"}, {{"strides", Ints{2}}}), "f32[B,2,2*H+1]");
}

TEST(DeformConv, MovesTapsBetweenElements) {
  std::vector<float> offset(32, 0.0f);             // tap, down or right, place
  offset[0] = 0.5f;                                // the first tap at the first place: half a row down
  for (size_t i = 28; i < 32; ++i) offset[i] = 1;  // the last tap everywhere: one column right
  const Tensor ones = f32({1, 1, 2, 2}, {1, 1, 1, 1}), by = f32({1, 8, 2, 2}, offset);
  EXPECT_EQ(call("deform_conv", {kThreeByThree, ones, by}).to_floats(), (Floats{14.5f, 10, 25, 19}));
  std::vector<float> mask(16, 1.0f);
  mask[0] = 2;  // of the first tap at the first place
  EXPECT_EQ(call("deform_conv", {kThreeByThree, ones, by, f32({1}, {100}), f32({1, 4, 2, 2}, mask)}).to_floats(),
            (Floats{117, 110, 125, 119}));
  EXPECT_NE(error_of("deform_conv", {kThreeByThree, ones, f32({1, 4, 2, 2}, Floats(16))}).find("must be 8"),
            std::string::npos);
}

TEST(Pooling, TakesTheLargestTheMeanOrTheNormOfEachWindow) {
  const Tensor x = f32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Attributes two{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(call("max_pool", {x}, two).to_floats(), (Floats{6, 8}));
  EXPECT_EQ(call("max_pool_indices", {x}, two).to_integers(), (Ints{5, 7}));
  EXPECT_EQ(call("avg_pool", {x}, two).to_floats(), (Floats{3.5f, 5.5f}));
  EXPECT_EQ(call("lp_pool", {f32({1, 1, 3}, {3, -4, 0})}, {{"kernel_shape", Ints{2}}}).to_floats(), (Floats{5, 4}));
  EXPECT_EQ(call("lp_pool", {f32({1, 1, 2}, {3, -4})}, {{"kernel_shape", Ints{2}}, {"p", int64_t{1}}}).to_floats(),
            (Floats{7}));
}

TEST(Pooling, PaddingNeverWinsAndCountsOnlyWhenAsked) {
  const Tensor x = f32({1, 1, 1, 1}, {-4});
  Attributes padded{{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}};
  EXPECT_EQ(call("max_pool", {x}, padded).to_floats(), (Floats{-4}));
  EXPECT_EQ(call("avg_pool", {x}, padded).to_floats(), (Floats{-4}));
  padded.set("count_include_pad", int64_t{1});
  EXPECT_EQ(call("avg_pool", {x}, padded).to_floats(), (Floats{-1}));
  EXPECT_NE(error_of("max_pool", {x}, {{"kernel_shape", Ints{1, 1}}, {"pads", Ints{1, 1, 1, 1}}})
                .find("smaller than the window"),
            std::string::npos);
  EXPECT_NE(error_of("max_pool", {f32({1, 1, 1}, {1})},
                     {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}, {"pads", Ints{1, 1}}})
                .find("padding alone"),
            std::string::npos);
}

TEST(Pooling, ACeilingKeepsTheLastWindowIfItStartsInside) {
  const Tensor x = f32({1, 1, 5}, {1, 2, 3, 4, 8});
  Attributes up{{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  EXPECT_EQ(call("max_pool", {x}, up).to_floats(), (Floats{2, 4, 8}));
  EXPECT_EQ(call("avg_pool", {x}, up).to_floats(), (Floats{1.5f, 3.5f, 8}));
  up.set("count_include_pad", int64_t{1});
  EXPECT_EQ(call("avg_pool", {x}, up).to_floats(), (Floats{1.5f, 3.5f, 8})) << "past the padding nothing counts";
  up.erase("count_include_pad");
  up.set("pads", Ints{1, 1});  // starts at -1, 1, 3 and, in the padding, 5
  EXPECT_EQ(call("max_pool", {x}, up).to_floats(), (Floats{1, 3, 8}));
  up.erase("pads");
  EXPECT_EQ(type_of("max_pool", {"f32[B,C,L]"}, up), "f32[B,C,(L+1)/2]");
}

TEST(MaxPool, KeepsIntegersAndTheFirstOfEqualElementsAndNaN) {
  const Attributes two{{"kernel_shape", Ints{2}}};
  const Tensor bytes = Tensor::of<uint8_t>({1, 1, 3}, {250, 250, 7});
  EXPECT_EQ(call("max_pool", {bytes}, two).dtype(), DType::u8);
  EXPECT_EQ(call("max_pool", {bytes}, two).to_integers(), (Ints{250, 250}));
  EXPECT_EQ(call("max_pool_indices", {bytes}, two).to_integers(), (Ints{0, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(call("max_pool_indices", {f32({1, 1, 3}, {1, nan, 2})}, two).to_integers(), (Ints{1, 1}));
}

TEST(MaxPool, IndicesCountOverAllPlanesInEitherOrder) {
  const Tensor x = f32({1, 2, 2, 3}, {1, 2, 9, 3, 4, 5, 6, 5, 4, 3, 2, 1});
  Attributes whole{{"kernel_shape", Ints{2, 3}}};
  EXPECT_EQ(call("max_pool_indices", {x}, whole).to_integers(), (Ints{2, 6}));
  whole.set("column_major", int64_t{1});
  EXPECT_EQ(call("max_pool_indices", {x}, whole).to_integers(), (Ints{4, 6}));
}

TEST(MaxUnpool, PutsElementsBackAndZerosAroundThem) {
  const Tensor x = f32({1, 1, 2}, {5, 6}), at = i64({1, 1, 2}, {1, 2});
  Attributes two{{"kernel_shape", Ints{2}}, {"strides", Ints{2}}};
  EXPECT_EQ(call("max_unpool", {x, at}, two).to_floats(), (Floats{0, 5, 6, 0}));
  EXPECT_EQ(call("max_unpool", {x, at, i64({3}, {1, 1, 5})}, two).to_floats(), (Floats{0, 5, 6, 0, 0}));
  EXPECT_NE(error_of("max_unpool", {x, i64({1, 1, 2}, {1, 4})}, two).find("indices holds 4; accepted: 0 to 3"),
            std::string::npos);
  two.set("output_shape", Shape{1, 1, 3});
  EXPECT_NE(error_of("max_unpool", {x, at}, two).find("is smaller than"), std::string::npos);
}

const Tensor kOneToFour = f32({1, 4}, {1, 2, 3, 4});
Tensor resize_to(int64_t size, Attributes how) {
  how.set("sizes", Shape{1, size});
  return call("resize", {kOneToFour}, how);
}
Tensor resize_by(float scale, const Attributes& how) {
  return call_some("resize", {kOneToFour, {}, f32({2}, {1, scale})}, how);
}

TEST(Resize, TakesTheNearestElement) {
  const auto rounded = [](const char* how) {
    return resize_to(8, {{"coordinates", "asymmetric"}, {"nearest_mode", how}}).to_floats();
  };
  EXPECT_EQ(resize_to(8, {}).to_floats(), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(rounded("round_prefer_floor"), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(rounded("round_prefer_ceil"), (Floats{1, 2, 2, 3, 3, 4, 4, 4}));
  EXPECT_EQ(rounded("floor"), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(rounded("ceil"), (Floats{1, 2, 2, 3, 3, 4, 4, 4}));
  EXPECT_EQ(rounded("ceil_if_smaller"), rounded("floor"));
  const Attributes shrink{{"coordinates", "asymmetric"}, {"nearest_mode", "ceil_if_smaller"}};
  EXPECT_EQ(resize_by(0.6f, shrink).to_floats(), (Floats{1, 3}));
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_EQ(call("resize", {i64({1}, {large})}, {{"sizes", Shape{2}}}).to_integers(), (Ints{large, large}));
}

TEST(Resize, IsLinearOrCubicBetweenElements) {
  expect_near(resize_by(2, {{"mode", "linear"}}), {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4});
  expect_near(resize_to(7, {{"mode", "linear"}, {"coordinates", "align_corners"}}), {1, 1.5f, 2, 2.5f, 3, 3.5f, 4});
  expect_near(resize_by(2, {{"mode", "cubic"}, {"coordinates", "asymmetric"}}),
              {1, 1.40625f, 2, 2.5f, 3, 3.59375f, 4, 4.09375f});
  expect_near(resize_by(0.5f, {{"mode", "cubic"}, {"exclude_outside", int64_t{1}}}), {1.371429f, 3.628571f});
  const Tensor bytes = Tensor::of<uint8_t>({1, 2}, {0, 255});
  EXPECT_EQ(call("resize", {bytes}, {{"mode", "linear"}, {"sizes", Shape{1, 4}}}).to_integers(),
            (Ints{0, 64, 191, 255}));
  EXPECT_EQ(call("resize", {bytes}, {{"mode", "cubic"}, {"sizes", Shape{1, 4}}}).to_integers(),
            (Ints{0, 58, 197, 255}));
  expect_near(resize_by(0.5f, {{"mode", "linear"}, {"antialias", int64_t{1}}}), {1.625f, 3.375f});
  expect_near(resize_by(0.5f, {{"mode", "cubic"}, {"antialias", int64_t{1}}}), {1.490234f, 3.509766f});
}

TEST(Resize, KnowsHowLongTheResultExactlyIs) {  // 2 places of 2.4
  expect_near(resize_by(0.6f, {{"mode", "linear"}}), {4.0f / 3, 3});
  expect_near(resize_by(0.6f, {{"mode", "linear"}, {"coordinates", "half_pixel_symmetric"}}), {5.0f / 3, 10.0f / 3});
  expect_near(resize_by(0.6f, {{"mode", "linear"}, {"coordinates", "align_corners"}}), {1, 1 + 3 / 1.4f});
  expect_near(resize_to(1, {{"mode", "linear"}, {"coordinates", "pytorch_half_pixel"}}), {1});
  EXPECT_EQ(resize_by(0.5f, {{"coordinates", "tf_half_pixel_for_nn"}, {"nearest_mode", "floor"}}).to_floats(),
            (Floats{2, 4}));
}

TEST(Resize, CropsARegionAndFillsWhatLiesOutside) {
  const Attributes crop{
      {"mode", "linear"}, {"coordinates", "tf_crop_and_resize"}, {"extrapolation_value", 9.0}, {"sizes", Shape{1, 4}}};
  expect_near(call("resize", {kOneToFour, f32({4}, {0, -0.5f, 1, 1})}, crop), {9, 1, 2.5f, 4});
  EXPECT_NE(error_of("resize", {kOneToFour}, crop).find("needs the operand roi"), std::string::npos);
}

TEST(Resize, KeepsTheAspectRatioWithOneScale) {
  const Tensor x = f32({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  Attributes how{{"sizes", Shape{3, 5}}, {"keep_aspect_ratio_policy", "not_larger"}};
  EXPECT_EQ(call("resize", {x}, how).to_floats(), (Floats{0, 1, 1, 2, 3, 4, 5, 5, 6, 7, 4, 5, 5, 6, 7}));
  how.set("keep_aspect_ratio_policy", "not_smaller");
  EXPECT_EQ(call("resize", {x}, how).shape(), (Sizes64{3, 6}));
  how.set("keep_aspect_ratio_policy", "largest");
  EXPECT_NE(error_of("resize", {x}, how).find("accepted: stretch, not_larger"), std::string::npos);
}

TEST(Resize, SizesMayBeSymbolsOrOperands) {
  EXPECT_EQ(type_of("resize", {"f32[B,3,H,W]"}, {{"axes", Ints{-1}}, {"sizes", Shape{2 * Dim::symbol("W")}}}),
            "f32[B,3,H,2*W]");
  Graph graph;
  const ValueId x = graph.add_input("x", parse_type("f32[B,H,W]")),
                scales = graph.add_constant("", f32({3}, {1, 0.5f, 1.5f}));
  EXPECT_EQ(to_string(graph.type(graph.emit(ops::get("resize"), {x, kNone, scales}))), "f32[B,H/2,W/2+W]");
  EXPECT_EQ(call_some("resize", {kOneToFour, {}, {}, i64({2}, {2, 2})}, {}).to_floats(), (Floats{1, 3, 1, 3}));
  EXPECT_NE(error_of("resize", {kOneToFour}, {{"sizes", Shape{8}}}).find("1 values for 2 axes"), std::string::npos);
}

// At the centre, a corner, the middle of an edge, and outside.
const Tensor kImage = f32({1, 1, 2, 2}, {1, 2, 3, 4}), kGrid = f32({1, 1, 4, 2}, {0, 0, -1, -1, 1, 0, 3, -0.5f});
Tensor sample(const char* mode, const char* padding, int64_t align) {
  return call("grid_sample", {kImage, kGrid}, {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}});
}

TEST(GridSample, ReadsBetweenElementsAndPadsOutside) {
  expect_near(sample("linear", "zeros", 0), {2.5f, 0.25f, 1.5f, 0});
  expect_near(sample("linear", "zeros", 1), {2.5f, 1, 3, 0});
  expect_near(sample("nearest", "zeros", 1), {1, 1, 2, 0});
  expect_near(sample("linear", "border", 0), {2.5f, 1, 3, 2});
  expect_near(sample("linear", "reflection", 1), {2.5f, 1, 3, 1.5f});
  expect_near(sample("nearest", "reflection", 0), {1, 1, 2, 1});
  expect_near(sample("cubic", "border", 0), {2.5f, 0.71875f, 3.09375f, 2});
  expect_near(sample("cubic", "reflection", 1), {2.5f, 1, 3, 1.3125f});
}

TEST(GridSample, TakesVolumesAndReadsNaNAsTheFirstEdge) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor volume = f32({1, 1, 2, 1, 2}, {1, 2, 3, 4}), grid = f32({1, 1, 1, 2, 3}, {1, 0, -1, nan, 0, 1});
  EXPECT_EQ(call("grid_sample", {volume, grid}, {{"align_corners", int64_t{1}}}).to_floats(), (Floats{2, 3}));
}

TEST(AffineGrid, MapsTheCoordinatesOfEachPlace) {
  const Tensor theta = f32({1, 2, 3}, {1, 0, 0.5f, 0, 2, 0});  // x + 1/2, 2y
  EXPECT_EQ(call("affine_grid", {theta}, {{"size", Shape{1, 1, 2, 2}}}).to_floats(),
            (Floats{0, -1, 1, -1, 0, 1, 1, 1}));
  EXPECT_EQ(call("affine_grid", {theta, i64({4}, {1, 1, 1, 2})}, {{"align_corners", int64_t{1}}}).to_floats(),
            (Floats{-0.5f, 0, 1.5f, 0}));
  EXPECT_EQ(type_of("affine_grid", {"f32[N,3,4]", "i64[5]"}, {}), "f32[N,_1,_2,_3,3]");
  EXPECT_EQ(type_of("affine_grid", {"f32[N,D,E]", "i64[K]"}, {}), "f32[*]");
}

TEST(RoiAlign, AveragesOrTakesTheLargestSampleOfEachBin) {
  const Tensor roi = f32({1, 4}, {0, 0, 2, 2}), image = i64({1}, {0});
  Attributes bins{{"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{1}}};
  EXPECT_EQ(call("roi_align", {kThreeByThree, roi, image}, bins).to_floats(), (Floats{3, 4, 6, 7}));
  bins.set("half_pixel", int64_t{1});
  EXPECT_EQ(call("roi_align", {kThreeByThree, roi, image}, bins).to_floats(), (Floats{1, 2, 4, 5}));
  const Attributes largest{{"sampling_ratio", int64_t{2}}, {"mode", "max"}};
  EXPECT_EQ(call("roi_align", {kThreeByThree, roi, image}, largest).to_floats(), (Floats{2.25f}));
  EXPECT_NE(error_of("roi_align", {kThreeByThree, roi, i64({1}, {1})}).find("image 1 but x has 1"), std::string::npos);
}

TEST(MaxRoiPool, TakesTheLargestElementOfEachBin) {
  const Tensor rois = f32({2, 5}, {0, 0, 0, 2, 2, 0, 1, 1, 9, 9});
  EXPECT_EQ(call("max_roi_pool", {kThreeByThree, rois}, {{"pooled_shape", Ints{2, 2}}}).to_floats(),
            (Floats{5, 6, 8, 9, 9, 0, 0, 0}));
  EXPECT_EQ(call("max_roi_pool", {kThreeByThree, f32({1, 5}, {0, 0, 0, 2, 2})},
                 {{"pooled_shape", Ints{1, 1}}, {"spatial_scale", 0.5}})
                .to_floats(),
            (Floats{5}));
}

TEST(Col2im, AddsColumnsWhereWindowsOverlap) {
  const Tensor x = i64({1, 2, 3}, {1, 2, 3, 10, 20, 30});  // windows of 2 at 3 places
  EXPECT_EQ(call("col2im", {x}, {{"image_shape", Shape{4}}, {"block_shape", Shape{2}}}).to_integers(),
            (Ints{1, 12, 23, 30}));
  EXPECT_EQ(call("col2im", {x, i64({1}, {2}), i64({1}, {2})}, {{"pads", Ints{1, 1}}}).to_integers(), (Ints{12, 23}));
  EXPECT_NE(error_of("col2im", {x}, {{"image_shape", Shape{5}}, {"block_shape", Shape{2}}}).find("must be 4"),
            std::string::npos);
  EXPECT_EQ(type_of("col2im", {"f32[B,8,L]", "i64[2]", "i64[2]"}, {}), "f32[B,_1,_2,_3]");
}

TEST(CenterCropPad, KeepsTheMiddle) {
  EXPECT_EQ(call("center_crop_pad", {kOneToFour}, {{"shape", Shape{1, 2}}}).to_floats(), (Floats{2, 3}));
  EXPECT_EQ(call("center_crop_pad", {kOneToFour}, {{"shape", Shape{1}}, {"axes", Ints{1}}}).to_floats(), (Floats{2}));
  EXPECT_EQ(call("center_crop_pad", {kOneToFour, i64({2}, {2, 3})}).to_floats(), (Floats{1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(type_of("center_crop_pad", {"f32[A,B]", "i64[1]"}, {{"axes", Ints{0}}}), "f32[_1,B]");
}

TEST(NonMaxSuppression, KeepsTheBestOfBoxesThatOverlap) {
  const Tensor boxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 2, 2, 3, 3}),
               scores = f32({1, 1, 3}, {0.8f, 0.9f, 0.3f});
  const Tensor most = i64({1}, {3}), half = f32({1}, {0.5f});
  EXPECT_EQ(call("non_max_suppression", {boxes, scores, most, half}).to_integers(), (Ints{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(call("non_max_suppression", {boxes, scores, i64({1}, {1}), half}).to_integers(), (Ints{0, 0, 1}));
  EXPECT_EQ(call("non_max_suppression", {boxes, scores, most, half, half}).to_integers(), (Ints{0, 0, 1}));
  EXPECT_EQ(call("non_max_suppression", {boxes, scores, most, f32({1}, {0.9f})}).shape(), (Sizes64{3, 3}));
  EXPECT_EQ(call("non_max_suppression", {boxes, scores}).shape(), (Sizes64{0, 3})) << "by default no box is wanted";
  const Tensor centred = f32({1, 2, 4}, {0.5f, 0.5f, 1, 1, 1.2f, 0.5f, 1, 1});  // overlap 0.3 / 1.7
  EXPECT_EQ(call("non_max_suppression", {centred, f32({1, 1, 2}, {1, 2}), most, f32({1}, {0.2f})},
                 {{"center_point_box", int64_t{1}}})
                .shape(),
            (Sizes64{2, 3}));
}

// Boxes on a coarse grid, so that many overlap by exactly the limit, some with edges that are no numbers.
TEST(NonMaxSuppression, OfManyBoxesIsThatOfPairByPair) {
  constexpr int kCount = 150;
  std::mt19937 random(3);
  const auto number = [&](int below) { return static_cast<float>(random() % static_cast<unsigned>(below)); };
  std::vector<float> corners, scores;
  for (int i = 0; i < kCount; ++i) {
    const float top = number(12), left = number(12);
    corners.insert(corners.end(), {top, left, top + number(4), left + number(4)});
    if (i % 31 == 0) corners.back() = i % 2 ? std::numeric_limits<float>::infinity() : NAN;
    scores.push_back(1 - static_cast<float>(i) / kCount);
  }
  const auto overlap = [&](int64_t i, int64_t j) -> double {
    const auto edge = [&](int64_t box, int64_t k) -> double { return corners[static_cast<size_t>(4 * box + k)]; };
    const auto low = [&](int64_t box, int64_t k) { return std::min(edge(box, k), edge(box, k + 2)); };
    const auto high = [&](int64_t box, int64_t k) { return std::max(edge(box, k), edge(box, k + 2)); };
    const auto area = [&](int64_t a, int64_t b) {
      double product = 1;
      for (int64_t k : {0, 1})
        product *= std::max(std::min(high(a, k), high(b, k)) - std::max(low(a, k), low(b, k)), 0.);
      return product;
    };
    const double both = area(i, j);
    return both > 0 ? both / (area(i, i) + area(j, j) - both) : 0;
  };
  for (float limit : {-1.f, 0.f, 1.f / 3, 0.5f, 1.f}) {
    Ints expected;
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < kCount; ++i) {
      if (std::ranges::any_of(kept, [&](int64_t j) { return overlap(i, j) > limit; })) continue;
      kept.push_back(i), expected.insert(expected.end(), {0, 0, i});
    }
    EXPECT_EQ(call("non_max_suppression",
                   {f32({1, kCount, 4}, corners), f32({1, 1, kCount}, scores), i64({1}, {kCount}), f32({1}, {limit})})
                  .to_integers(),
              expected)
        << limit;
  }
}

TEST(Windows, FarLargerThanThePlaneSeeTheElementsThatThereAre) {
  const Tensor x = f32({1, 1, 3}, {1, 2, 3});
  const int64_t wide = int64_t{1} << 40;
  const Attributes attributes{{"kernel_shape", Ints{wide + 3}}, {"pads", Ints{wide / 2, wide / 2}}};
  EXPECT_EQ(call("max_pool", {x}, attributes).to_floats(), (Floats{3}));
  EXPECT_EQ(call("avg_pool", {x}, attributes).to_floats(), (Floats{2}));
  EXPECT_NE(error_of("max_pool", {x}, {{"kernel_shape", Ints{2}}, {"dilations", Ints{INT64_MAX}}}), "");
}

TEST(RoiAlign, ARegionFarLargerThanTheImageIsSampledWhereTheImageIs) {
  const Tensor x = f32({1, 1, 2, 2}, {1, 1, 1, 1}), roi = f32({1, 4}, {-1000, -1000, 1000, 1000}),
               image = i64({1}, {0});
  const auto with = [&](const Attributes& attributes) { return call("roi_align", {x, roi, image}, attributes); };
  // Samples 1 apart on each axis; those at -0.5, 0.5, 1.5 lie on the image or within 1 of it.
  EXPECT_NEAR(with({}).to_floats()[0], 9.0 / (2000.0 * 2000.0), 1e-9);
  EXPECT_EQ(with({{"mode", std::string("max")}}).to_floats()[0] > 0, true);
  EXPECT_EQ(with({{"spatial_scale", 1e6}}).shape(), (Sizes64{1, 1, 1, 1}));
  EXPECT_NE(error_of("roi_align", {x, roi, image}, {{"spatial_scale", 1e300}}), "");
  EXPECT_NE(error_of("roi_align", {x, roi, image}, {{"sampling_ratio", INT64_MAX}}), "");
  const Tensor empty(DType::f32, {1, 1, 0, 2});
  EXPECT_EQ(call("roi_align", {empty, f32({1, 4}, {0, 0, 1, 1}), image}).to_floats(), (Floats{0}));
}

}  // namespace
}  // namespace hone
