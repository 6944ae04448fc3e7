// Ops that move, find or make elements where shapes or places may be computed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/call.h"

namespace hone {
namespace {

const Dim kS = Dim::symbol("S");

Tensor x23() { return f32({2, 3}, {1, 2, 3, 4, 5, 6}); }
Tensor words(std::vector<int64_t> shape, std::vector<std::string> values) {
  return Tensor::strings(std::move(shape), std::move(values));
}
Tensor vector(const Ints& values) { return i64({static_cast<int64_t>(values.size())}, values); }
Tensor iota(int64_t count) {
  Ints values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = i;
  return vector(values);
}

std::vector<Tensor> call_all(const char* op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& operand : operands) pointers.push_back(&operand);
  return evaluate_node(ops::get(op), pointers, attributes);
}

// Types that the shape rule gives for operands of which only the types are known.
std::string types(const char* op, const std::vector<std::string>& operands, const Attributes& attributes = {}) {
  Graph graph;
  std::vector<ValueId> values;
  for (const std::string& type : operands)
    values.push_back(graph.add_input(fmt::format("x{}", values.size()), parse_type(type)));
  std::string text;
  for (ValueId result : graph.node(graph.add_node(ops::get(op), values, attributes)).results)
    text += (text.empty() ? "" : " ") + to_string(graph.type(result));
  return text;
}

using Words = std::vector<std::string>;

TEST(Strings, MoveAsElementsOfOtherTypesDo) {
  const Tensor x = words({2, 2}, {"a", "b", "c", "d"});
  EXPECT_EQ(call("transpose", {x}).string_values(), (Words{"a", "c", "b", "d"}));
  EXPECT_EQ(call("reshape", {x}, {{"shape", Shape{4}}}).string_values(), (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(call("concat", {x, words({2, 1}, {"e", "f"})}, {{"axis", int64_t{1}}}).string_values(),
            (Words{"a", "b", "e", "c", "d", "f"}));
  EXPECT_EQ(call("gather", {x, vector({1, 0})}, {{"axis", int64_t{1}}}).string_values(), (Words{"b", "a", "d", "c"}));
  EXPECT_EQ(call("slice", {x}, {{"starts", Shape{1}}, {"ends", Shape{2}}}).string_values(), (Words{"c", "d"}));
  EXPECT_EQ(call("expand", {words({1}, {"a"})}, {{"shape", Shape{2}}}).string_values(), (Words{"a", "a"}));
  EXPECT_EQ(call("tile", {words({2}, {"a", "b"})}, {{"repeats", Shape{2}}}).string_values(),
            (Words{"a", "b", "a", "b"}));
  EXPECT_EQ(call("pad", {words({1}, {"a"})}, {{"pads", Shape{1, 0}}}).string_values(), (Words{"", "a"}));
  EXPECT_EQ(call("split", {x}, {{"sizes", Shape{2}}}).string_values(), (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(call("scatter_nd", {x, i64({1, 2}, {1, 0}), words({1}, {"z"})}).string_values(),
            (Words{"a", "b", "z", "d"}));
  EXPECT_EQ(call("unique", {words({4}, {"b", "a", "b", "c"})}).string_values(), (Words{"a", "b", "c"}));
}

TEST(Shapes, MayComeFromAnOperand) {
  EXPECT_EQ(call("reshape", {x23(), vector({3, -1})}).shape(), (Sizes64{3, 2}));
  EXPECT_EQ(call("expand", {f32({2, 1}, {1, 2}), vector({1, 1, 2})}).to_floats(), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(call("full", {vector({3})}, {{"value", 2.0}}).to_floats(), (Floats{2, 2, 2}));
  EXPECT_EQ(call("tile", {x23(), vector({1, 2})}).to_floats(), (Floats{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(types("reshape", {"f32[S]", "i64[2]"}), "f32[_1,_2]");
  EXPECT_EQ(types("reshape", {"f32[S]", "i64[S]"}), "f32[*]");
  EXPECT_EQ(types("expand", {"f32[S,1,4]", "i64[2]"}), "f32[_1,_2,_3]");
  EXPECT_EQ(types("full", {"i64[S]"}, {{"value", 0.0}}), "f32[*]");
  EXPECT_NE(error_of("reshape", {x23()}).find("neither attribute shape nor operand 1"), std::string::npos);
}

TEST(Reshape, CopiesDimensionsWhereZerosAskForIt) {
  EXPECT_EQ(call("reshape", {x23(), vector({0, 1, -1})}, {{"copy_zeros", int64_t{1}}}).shape(), (Sizes64{2, 1, 3}));
  EXPECT_EQ(call("reshape", {f32({0, 3}, {})}, {{"shape", Shape{3, 0}}}).shape(), (Sizes64{3, 0}));
  EXPECT_NE(error_of("reshape", {x23()}, {{"shape", Shape{6, 1, 0}}, {"copy_zeros", int64_t{1}}}).find("dimension 2"),
            std::string::npos);
  EXPECT_EQ(types("reshape", {"f32[*]"}, {{"shape", Shape{kS, 8}}}), "f32[S,8]");
}

TEST(Squeeze, WithoutAxesLeavesTheRankOpenWhereASymbolMayBeOne) {
  EXPECT_EQ(types("squeeze", {"f32[S,1]"}), "f32[*]");
  EXPECT_EQ(types("squeeze", {"f32[S,1]"}, {{"axes", Ints{0}}}), "f32[1]");
}

TEST(Squeeze, TakesComputedAxesAsUnsqueezeDoes) {
  EXPECT_EQ(call("squeeze", {f32({1, 2, 1}, {1, 2}), vector({-1})}).shape(), (Sizes64{1, 2}));
  EXPECT_EQ(call("unsqueeze", {x23(), vector({-1, 0})}).shape(), (Sizes64{1, 2, 3, 1}));
  EXPECT_EQ(types("squeeze", {"f32[S,1]", "i64[1]"}), "f32[_1]");
  EXPECT_EQ(types("unsqueeze", {"f32[S]", "i64[2]"}), "f32[_1,_2,_3]");
  EXPECT_NE(error_of("squeeze", {x23(), vector({0, 1, 2})}), "");
  EXPECT_NE(error_of("unsqueeze", {x23()}).find("neither attribute axes nor operand 1"), std::string::npos);
}

TEST(Concat, SumsSymbolicLengthsAndTakesConstantsFromAnyOperand) {
  EXPECT_EQ(types("concat", {"f32[S,T]", "f32[2,4]"}, {{"axis", int64_t{0}}}), "f32[S+2,4]");
}

TEST(StridedSlice, ClampsBoundsAndWalksBackward) {
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    return call("strided_slice", {iota(5), vector({start}), vector({end}), vector({0}), vector({step})}).to_integers();
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(slice(1, kMost, 2), (Ints{1, 3}));
  EXPECT_EQ(slice(-100, 2, 1), (Ints{0, 1}));
  EXPECT_EQ(slice(-1, kLeast, -2), (Ints{4, 2, 0}));
  EXPECT_EQ(slice(100, -4, -1), (Ints{4, 3, 2}));
  EXPECT_EQ(slice(3, 1, 1), (Ints{}));
  EXPECT_EQ(slice(0, 4, -1), (Ints{}));
  EXPECT_EQ(slice(-100, kLeast, -1), (Ints{0}));  // the start is clamped into the axis, the end to before it
  EXPECT_EQ(slice(kLeast, kLeast, -3), (Ints{0}));
  EXPECT_EQ(slice(-6, -100, -1), (Ints{0}));
  EXPECT_EQ(slice(-6, 0, -1), (Ints{}));
  EXPECT_EQ(slice(0, 5, kMost), (Ints{0}));
  EXPECT_NE(error_of("strided_slice", {iota(5)},
                     {{"axes", Ints{0}}, {"starts", Shape{0}}, {"ends", Shape{1}}, {"steps", Shape{0}}})
                .find("step of a slice is 0"),
            std::string::npos);
}

// What ONNX Runtime 1.32 gives for x of five elements, of each bound near the ends of 32 and 64 bits.
TEST(StridedSlice, ReadsExtremesAsOnnxRuntimeDoes) {
  constexpr int64_t kMost32 = std::numeric_limits<int32_t>::max(), kLeast32 = std::numeric_limits<int32_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    return call("strided_slice", {iota(5), vector({start}), vector({end}), vector({0}), vector({step})}).to_integers();
  };
  const Ints backward{4, 3, 2, 1, 0}, forward{0, 1, 2, 3, 4}, none;
  for (int64_t end : {kMost32, kMost, kLeast32, kLeast, kLeast32 + 1, kLeast32 - 1, kLeast + 1}) {
    EXPECT_EQ(slice(4, end, -1), backward) << end;
    EXPECT_EQ(slice(4, end, -2), (Ints{4, 2, 0})) << end;
  }
  for (int64_t end : {kMost32 - 1, kMost32 + 1, kMost - 1}) EXPECT_EQ(slice(4, end, -1), none) << end;
  for (int64_t start : {kMost32, kMost32 + 1, kMost, kMost - 1}) {
    EXPECT_EQ(slice(start, -10, -1), backward) << start;
    EXPECT_EQ(slice(start, 9, 1), none) << start;
  }
  for (int64_t start : {kLeast32, kLeast32 - 1, kLeast, kLeast + 1}) {
    EXPECT_EQ(slice(start, -10, -1), (Ints{0})) << start;
    EXPECT_EQ(slice(start, 9, 1), forward) << start;
  }
  for (int64_t end : {kMost32 - 1, kMost32, kMost32 + 1, kMost}) EXPECT_EQ(slice(0, end, 1), forward) << end;
  for (int64_t end : {kLeast32, kLeast}) EXPECT_EQ(slice(0, end, 1), none) << end;
  EXPECT_EQ(types("strided_slice", {"f32[S]"},
                  {{"axes", Ints{0}}, {"starts", Shape{-1}}, {"ends", Shape{kMost}}, {"steps", Shape{-1}}}),
            "f32[S]");
}

TEST(StridedSlice, KnowsSymbolicCountsWhereNoDataDecidesThem) {
  const auto type = [](const Dim& start, const Dim& end, int64_t step, const char* x = "f32[S]") {
    return types("strided_slice", {x},
                 {{"axes", Ints{0}}, {"starts", Shape{start}}, {"ends", Shape{end}}, {"steps", Shape{step}}});
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(type(0, kMost, 1), "f32[S]");
  EXPECT_EQ(type(-1, -kMost, -1), "f32[S]");
  EXPECT_EQ(type(0, kMost, 2), "f32[(S+1)/2]");
  EXPECT_EQ(type(3, kMost, 1), "f32[S-3]");
  EXPECT_EQ(type(-1, kMost, 1), "f32[1]");
  EXPECT_EQ(type(0, -1, 1), "f32[S-1]");
  EXPECT_EQ(type(0, 1, 1), "f32[1]");
  EXPECT_EQ(type(0, 512, 1), "f32[_1]");  // S may be shorter
  EXPECT_EQ(type(-5, kMost, 1), "f32[_1]");
  EXPECT_EQ(type(0, kS, 1, "f32[512]"), "f32[S]");
  EXPECT_EQ(type(0, kS + 2, 1), "f32[S]");
  EXPECT_EQ(type(0, 1, 1, "f32[_1]"), "f32[_2]");  // a size that depends on data may be 0
  EXPECT_EQ(type(-1, -kMost, -1, "f32[_1]"), "f32[_1]");
  EXPECT_EQ(type(-2, -kMost, -1), "f32[_1]");  // of one element the first, of two or more all but the last
  EXPECT_EQ(type(3, -kMost, -1), "f32[_1]");
  EXPECT_EQ(type(-2, -kMost, -1, "f32[1]"), "f32[1]");
  EXPECT_EQ(type(-2, -kMost, -1, "f32[0]"), "f32[0]");
  EXPECT_EQ(types("strided_slice", {"f32[S,4]", "i64[1]"}, {{"axes", Ints{0}}, {"ends", Shape{kMost}}}), "f32[_1,4]");
}

TEST(Split, CutsAlongAnAxis) {
  const std::vector<Tensor> parts = call_all("split", {x23()}, {{"sizes", Shape{1, 2}}, {"axis", int64_t{-1}}});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].to_floats(), (Floats{1, 4}));
  EXPECT_EQ(parts[1].to_floats(), (Floats{2, 3, 5, 6}));
  EXPECT_EQ(types("split", {"f32[S,4]", "i64[2]"}), "f32[_1,4] f32[_2,4]");
  EXPECT_NE(error_of("split", {x23()}, {{"sizes", Shape{1, 2}}}).find("3 positions together but axis 0 has 2"),
            std::string::npos);
}

TEST(Pad, FillsTheBorderByMode) {
  const auto pad = [](const char* mode, int64_t before, int64_t after) {
    return call("pad", {vector({1, 2, 3})}, {{"pads", Shape{before, after}}, {"mode", mode}}).to_integers();
  };
  EXPECT_EQ(pad("constant", 1, 2), (Ints{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(pad("edge", 1, 2), (Ints{1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(pad("reflect", 2, 2), (Ints{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(pad("reflect", 5, 0), (Ints{2, 1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(pad("wrap", 1, 4), (Ints{3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(pad("constant", -1, 1), (Ints{2, 3, 0}));
  EXPECT_EQ(pad("wrap", -1, 2), (Ints{2, 3, 2, 3}));
  EXPECT_EQ(call("pad", {vector({1}), Tensor::scalar<int64_t>(7), vector({1, 0})}).to_integers(), (Ints{7, 1}));
  EXPECT_EQ(types("pad", {"f32[S,4]"}, {{"pads", Shape{1, kS}}, {"axes", Ints{0}}}), "f32[2*S+1,4]");
  EXPECT_NE(error_of("pad", {vector({1})}, {{"pads", Shape{-1, -1}}}).find("cut more"), std::string::npos);
  EXPECT_NE(error_of("pad", {i64({0}, {})}, {{"pads", Shape{1, 0}}, {"mode", "edge"}}).find("without elements"),
            std::string::npos);
  EXPECT_NE(error_of("pad", {vector({1})}, {{"pads", Shape{1, 0}}, {"mode", "mirror"}}).find("mode mirror"),
            std::string::npos);
}

TEST(Range, CountsUpAndDown) {
  const auto range = [](auto start, auto limit, auto step) {
    return call("range", {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(step)}).to_doubles();
  };
  EXPECT_EQ(range(int64_t{0}, int64_t{5}, int64_t{2}), (Doubles{0, 2, 4}));
  EXPECT_EQ(range(int64_t{5}, int64_t{0}, int64_t{-2}), (Doubles{5, 3, 1}));
  EXPECT_EQ(range(1.0f, 2.1f, 0.5f), (Doubles{1, 1.5, 2}));
  EXPECT_EQ(range(int64_t{3}, int64_t{1}, int64_t{1}), (Doubles{}));
  EXPECT_EQ(types("range", {"i32[]", "i32[]", "i32[]"}), "i32[_1]");
  EXPECT_NE(error_of("range", {Tensor::scalar<float>(0), Tensor::scalar<float>(1), Tensor::scalar<float>(0)}), "");
  EXPECT_NE(error_of("range", {Tensor::scalar<int64_t>(0), Tensor::scalar<int64_t>(1), Tensor::scalar<int64_t>(0)}),
            "");
}

TEST(GatherElements, TakesOneElementPerIndex) {
  EXPECT_EQ(call("gather_elements", {x23(), i64({1, 3}, {1, 0, -1})}).to_floats(), (Floats{4, 2, 6}));
  EXPECT_EQ(call("gather_elements", {x23(), i64({2, 1}, {-1, 0})}, {{"axis", int64_t{1}}}).to_floats(), (Floats{3, 4}));
  EXPECT_NE(error_of("gather_elements", {x23(), i64({1, 1}, {2})}).find("index 2 is out of range"), std::string::npos);
  EXPECT_NE(error_of("gather_elements", {x23(), i64({1, 4}, {0, 0, 0, 0})}).find("axis 1, where the data has 3"),
            std::string::npos);
}

TEST(GatherNd, TakesSlicesThatTuplesAddress) {
  EXPECT_EQ(call("gather_nd", {x23(), i64({2, 2}, {0, 1, 1, -1})}).to_floats(), (Floats{2, 6}));
  EXPECT_EQ(call("gather_nd", {x23(), i64({1, 1}, {1})}).to_floats(), (Floats{4, 5, 6}));
  EXPECT_EQ(call("gather_nd", {x23(), i64({2, 1}, {2, 0})}, {{"batch_dims", int64_t{1}}}).to_floats(), (Floats{3, 4}));
  EXPECT_EQ(types("gather_nd", {"f32[S,4,5]", "i64[T,2]"}), "f32[T,5]");
  EXPECT_EQ(types("gather_nd", {"f32[S,4,5]", "i64[T,S]"}), "f32[*]");
  EXPECT_NE(error_of("gather_nd", {x23(), i64({1, 3}, {0, 0, 0})}).find("accepted: 1 to 2"), std::string::npos);
}

TEST(Scatter, PutsUpdatesOneAfterTheOther) {
  const Tensor zeros = vector({0, 0, 0}), at = vector({1, -1, 1});
  EXPECT_EQ(call("scatter_elements", {zeros, at, vector({5, 6, 7})}).to_integers(), (Ints{0, 7, 6}));
  EXPECT_EQ(call("scatter_nd", {x23(), i64({1, 1}, {1}), f32({1, 3}, {7, 8, 9})}).to_floats(),
            (Floats{1, 2, 3, 7, 8, 9}));
  EXPECT_NE(error_of("scatter_elements", {zeros, vector({3}), vector({1})}).find("index 3"), std::string::npos);
  EXPECT_NE(error_of("scatter_nd", {x23(), i64({1, 1}, {1}), f32({1, 2}, {7, 8})}).find("2 but must be 3"),
            std::string::npos);
}

TEST(Scatter, ReducesInEveryElementType) {
  const auto reduced = [](const char* reduction, const Tensor& data, const Tensor& update) {
    const Tensor at = vector({0, 0});
    return call("scatter_elements", {data, at, update}, {{"reduction", reduction}});
  };
  EXPECT_EQ(reduced("add", vector({1}), vector({2, 3})).to_integers(), (Ints{6}));
  EXPECT_EQ(reduced("mul", f32({1}, {2}), f32({2}, {3, 0.5f})).to_floats(), (Floats{3}));
  EXPECT_EQ(reduced("min", vector({4}), vector({2, 3})).to_integers(), (Ints{2}));
  const uint64_t large = uint64_t{1} << 63;
  EXPECT_EQ(reduced("max", Tensor::of<uint64_t>({1}, {5}), Tensor::of<uint64_t>({2}, {large, 1})).as<uint64_t>()[0],
            large);
  EXPECT_EQ(reduced("add", Tensor::of<int8_t>({1}, {127}), Tensor::of<int8_t>({2}, {1, 0})).as<int8_t>()[0], -128);
  EXPECT_TRUE(std::isnan(reduced("max", f32({1}, {1}), f32({2}, {std::nanf(""), 2})).to_floats()[0]));
  EXPECT_NE(error_of("scatter_elements", {words({1}, {"a"}), vector({0}), words({1}, {"b"})}, {{"reduction", "add"}})
                .find("strings have no reduction add"),
            std::string::npos);
}

TEST(NonZero, ListsIndicesAxisByAxis) {
  EXPECT_EQ(call("non_zero", {f32({2, 2}, {0, 3, -1, 0})}).to_integers(), (Ints{0, 1, 1, 0}));
  EXPECT_EQ(call("non_zero", {Tensor::scalar(true)}).shape(), (Sizes64{0, 1}));
  EXPECT_EQ(types("non_zero", {"bool[S,3]"}), "i64[2,_1]");
}

TEST(TopK, OrdersAndKeepsTheFirstOfEquals) {
  const std::vector<Tensor> largest = call_all("top_k", {vector({3, 1, 3, 2})}, {{"k", Shape{3}}});
  EXPECT_EQ(largest[0].to_integers(), (Ints{3, 3, 2}));
  EXPECT_EQ(largest[1].to_integers(), (Ints{0, 2, 3}));
  const std::vector<Tensor> smallest =
      call_all("top_k", {x23(), vector({1})}, {{"largest", int64_t{0}}, {"axis", int64_t{0}}});
  EXPECT_EQ(smallest[0].to_floats(), (Floats{1, 2, 3}));
  EXPECT_EQ(call_all("top_k", {f32({3}, {1, std::nanf(""), 2})}, {{"k", Shape{1}}})[1].to_integers(), (Ints{1}));
  EXPECT_EQ(types("top_k", {"f32[S,4]", "i64[1]"}), "f32[S,_1] i64[S,_2]");
  EXPECT_NE(error_of("top_k", {x23()}, {{"k", Shape{4}}}).find("k is 4; accepted: 0 to 3"), std::string::npos);
}

TEST(Unique, FindsElementsAndSlices) {
  const std::vector<Tensor> sorted = call_all("unique", {f32({6}, {2, 1, 1, 3, 4, 3})});
  EXPECT_EQ(sorted[0].to_floats(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(sorted[1].to_integers(), (Ints{1, 0, 3, 4}));
  EXPECT_EQ(sorted[2].to_integers(), (Ints{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(sorted[3].to_integers(), (Ints{2, 1, 2, 1}));
  const Attributes first_seen = {{"sorted", int64_t{0}}};
  EXPECT_EQ(call("unique", {f32({4}, {2, -1, 2, -3})}, first_seen).to_floats(), (Floats{2, -1, -3}));
  const std::vector<Tensor> rows = call_all("unique", {f32({3, 2}, {5, 0, 1, 9, 5, 0})}, {{"axis", int64_t{0}}});
  EXPECT_EQ(rows[0].to_floats(), (Floats{1, 9, 5, 0}));
  EXPECT_EQ(rows[2].to_integers(), (Ints{1, 0, 1}));
  EXPECT_EQ(call("unique", {f32({4}, {std::nanf(""), 1, -0.0f, 0})}).elements(), 3);
}

TEST(ReverseSequence, TurnsTheBeginningOfEachRound) {
  const Tensor x = f32({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(call("reverse_sequence", {x, vector({3, 2})}).to_floats(), (Floats{4, 3, 2, 1, 0, 5}));
  EXPECT_EQ(call("reverse_sequence", {x, vector({2, 1, 0})}, {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}})
                .to_floats(),
            (Floats{1, 0, 2, 3, 4, 5}));
  EXPECT_NE(error_of("reverse_sequence", {x, vector({4, 0})}).find("a length is 4; accepted: 0 to 3"),
            std::string::npos);
}

}  // namespace
}  // namespace hone
