// Ops that move, index or make elements.
#include <gtest/gtest.h>

#include "tests/ops/call.h"

namespace hone {
namespace {

const Tensor kTable = f32({3, 2}, {0, 1, 10, 11, 20, 21});
Tensor x23() { return f32({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(Gather, TakesRowsOrColumnsAndCountsNegativeIndicesFromTheEnd) {
  EXPECT_EQ(call("gather", {kTable, i64({2}, {2, -3})}).to_floats(), (Floats{20, 21, 0, 1}));
  EXPECT_EQ(call("gather", {kTable, i64({}, {1})}).shape(), (Sizes64{2}));
  EXPECT_EQ(call("gather", {kTable, i64({1, 1}, {-1})}, {{"axis", int64_t{1}}}).to_floats(), (Floats{1, 11, 21}));
}

TEST(Gather, AnIndexOutOfRangeIsAnErrorThatNamesItAndTheBounds) {
  const std::string text = error_of("gather", {kTable, i64({2}, {0, 3})});
  EXPECT_NE(text.find("index 3"), std::string::npos) << text;
  EXPECT_NE(text.find("-3 to 2"), std::string::npos) << text;
  EXPECT_NE(error_of("gather", {kTable, i64({1}, {-4})}).find("index -4"), std::string::npos);
}

TEST(Reshape, ComputesTheOpenDimension) {
  EXPECT_EQ(call("reshape", {x23()}, {{"shape", Shape{3, -1}}}).shape(), (Sizes64{3, 2}));
  EXPECT_NE(error_of("reshape", {x23()}, {{"shape", Shape{4, -1}}}).find("do not fall into"), std::string::npos);
  EXPECT_NE(error_of("reshape", {x23()}, {{"shape", Shape{4, 2}}}).find("has 6 elements but shape [4,2] has 8"),
            std::string::npos);
  EXPECT_NE(error_of("reshape", {x23()}, {{"shape", Shape{-1, -1}}}).find("twice"), std::string::npos);
}

TEST(Reshape, KeepsSymbolicDimensions) {
  Graph graph;
  const ValueId x = graph.add_input("x", parse_type("f32[B,S,6]"));
  const ValueId y = graph.emit(ops::get("reshape"), {x}, {{"shape", Shape{Dim::symbol("B"), Dim::symbol("S"), 2, -1}}});
  EXPECT_EQ(to_string(graph.type(y)), "f32[B,S,2,3]");
}

TEST(Views, FlattenSqueezeUnsqueeze) {
  EXPECT_EQ(call("flatten", {f32({2, 1, 3}, Floats(6))}).shape(), (Sizes64{2, 3}));
  EXPECT_EQ(call("squeeze", {f32({1, 2, 1}, Floats(2))}).shape(), (Sizes64{2}));
  EXPECT_EQ(call("squeeze", {f32({1, 2, 1}, Floats(2))}, {{"axes", Ints{0}}}).shape(), (Sizes64{2, 1}));
  EXPECT_EQ(call("unsqueeze", {x23()}, {{"axes", Ints{1, -1}}}).shape(), (Sizes64{2, 1, 3, 1}));
  EXPECT_NE(error_of("squeeze", {x23()}, {{"axes", Ints{1}}}).find("has length 3"), std::string::npos);
}

TEST(Transpose, PermutesAxes) {
  EXPECT_EQ(call("transpose", {x23()}).to_floats(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(call("transpose", {f32({1, 2, 3}, Floats(6))}, {{"perm", Ints{2, 0, 1}}}).shape(), (Sizes64{3, 1, 2}));
  EXPECT_NE(error_of("transpose", {x23()}, {{"perm", Ints{0, 0}}}).find("twice"), std::string::npos);
  EXPECT_NE(error_of("transpose", {x23()}, {{"perm", Ints{0}}}).find("1 of 2"), std::string::npos);
}

TEST(Concat, JoinsAlongAnAxis) {
  EXPECT_EQ(call("concat", {x23(), f32({2, 1}, {7, 8})}, {{"axis", int64_t{1}}}).to_floats(),
            (Floats{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_NE(error_of("concat", {x23(), f32({3, 1}, Floats(3))}, {{"axis", int64_t{1}}}).find("along axis 1 only"),
            std::string::npos);
}

TEST(Slice, TakesARegularPart) {
  EXPECT_EQ(call("slice", {x23()}, {{"starts", Shape{0, 0}}, {"ends", Shape{2, 3}}, {"steps", Ints{1, 2}}}).to_floats(),
            (Floats{1, 3, 4, 6}));
  EXPECT_EQ(call("slice", {x23()}, {{"starts", Shape{-2}}, {"ends", Shape{-1}}, {"axes", Ints{1}}}).to_floats(),
            (Floats{2, 5}));
}

TEST(Slice, BoundsOutsideAreAnErrorThatNamesThemAndTheAxis) {
  const std::string text = error_of("slice", {x23()}, {{"starts", Shape{0}}, {"ends", Shape{5}}, {"axes", Ints{1}}});
  EXPECT_NE(text.find("positions 0 to 5 do not lie in axis 1, which has 3"), std::string::npos) << text;
  EXPECT_NE(error_of("slice", {x23()}, {{"starts", Shape{2}}, {"ends", Shape{1}}}), "");
}

TEST(Expand, RepeatsByBroadcasting) {
  EXPECT_EQ(call("expand", {f32({2, 1}, {1, 2})}, {{"shape", Shape{2, 2}}}).to_floats(), (Floats{1, 1, 2, 2}));
}

TEST(Makers, FullAndIota) {
  EXPECT_EQ(call("full", {}, {{"shape", Shape{2}}, {"value", 7.0}, {"dtype", DType::i64}}).to_integers(), (Ints{7, 7}));
  EXPECT_EQ(call("iota", {}, {{"shape", Shape{2, 3}}, {"axis", int64_t{1}}}).to_integers(), (Ints{0, 1, 2, 0, 1, 2}));
  EXPECT_NE(
      error_of("full", {}, {{"shape", Shape{2}}, {"value", 0.5}, {"dtype", DType::i64}}).find("not a whole number"),
      std::string::npos);
}

TEST(FakeQuant, RoundsToTheFormat) {
  // mxint8: the largest magnitude 1 fixes the scale 1, steps are 1/64.
  EXPECT_EQ(call("fake_quant", {f32({3}, {1, 0.51f, 0.25f})}, {{"format", parse_format("mxint8")}}).to_floats(),
            (Floats{1, 33.0f / 64, 0.25f}));
}

}  // namespace
}  // namespace hone
