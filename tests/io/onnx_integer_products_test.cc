// Products of codes: where weights are known, sums are those of integer ops; elsewhere they are floats of the same
// numbers.
#include <gtest/gtest.h>

#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "tests/io/one_node.h"

namespace hone {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";

Tensor u8(Integers shape, const Integers& values) { return i64(std::move(shape), values).converted(DType::u8); }
Tensor i8(Integers shape, const Integers& values) { return i64(std::move(shape), values).converted(DType::i8); }
Tensor number(DType dtype, double value) { return Tensor::from_doubles(dtype, {}, std::vector{value}); }

// Whether the products are of integers.
bool multiplies_codes(const Graph& graph, const OpDef& op) {
  const std::vector<NodeId> nodes = graph.nodes(op);
  return nodes.size() == 1 && graph.type(graph.result(nodes[0])).dtype == DType::i32;
}

TEST(OnnxConvInteger, SeesTheZeroPointOutsideX) {
  OneNode conv("ConvInteger", 10);
  conv.input("u8[1,1,3]").constant(i8({1, 1, 2}, {1, 2})).constant(number(DType::u8, 1)).set("pads", Integers{1, 0});
  EXPECT_TRUE(multiplies_codes(conv.graph(), conv_def));
  EXPECT_EQ(conv.run({u8({1, 1, 3}, {1, 2, 3})})[0].to_integers(), (Integers{0, 2, 5}));
}

TEST(OnnxConvInteger, TakesZeroPointsOfEachOutputOffItsWeights) {
  OneNode conv("ConvInteger", 10);
  conv.input("u8[1,1,2]").constant(u8({2, 1, 1}, {130, 1})).constant(number(DType::u8, 3)).constant(u8({2}, {128, 2}));
  EXPECT_TRUE(multiplies_codes(conv.graph(), conv_def));
  EXPECT_EQ(conv.run({u8({1, 1, 2}, {0, 255})})[0].to_integers(), (Integers{-6, 504, 3, -252}));
}

TEST(OnnxConvInteger, OfWeightsThatAreNoI8OrUnknownMultipliesFloats) {
  OneNode wide("ConvInteger", 10), unknown("ConvInteger", 10), narrow("ConvInteger", 10);
  wide.input("u8[1,1,2]").constant(u8({1, 1, 1}, {200}));
  unknown.input("u8[1,1,2]").input("u8[1,1,1]");
  narrow.input("u8[1,2,2]").constant(i8({2, 1, 1}, {100, 100})).set("group", 2);
  for (OneNode* node : {&wide, &unknown, &narrow}) EXPECT_FALSE(multiplies_codes(node->graph(), conv_def));
  EXPECT_EQ(wide.run({u8({1, 1, 2}, {2, 255})})[0].to_integers(), (Integers{400, 51000}));
  EXPECT_EQ(unknown.run({u8({1, 1, 2}, {2, 255}), u8({1, 1, 1}, {200})})[0].to_integers(), (Integers{400, 51000}));
  EXPECT_EQ(narrow.run({u8({1, 2, 2}, {1, 2, 3, 4})})[0].to_integers(), (Integers{100, 200, 300, 400}));
}

TEST(OnnxQLinearConv, AddsABiasOfSumsAndRoundsByOneFactor) {
  OneNode conv("QLinearConv", 10);
  conv.input("u8[1,1,3]").constant(number(DType::f32, 0.5)).constant(number(DType::u8, 10));
  conv.constant(i8({2, 1, 1}, {3, -3})).constant(f32({2}, {1, 2})).constant(i8({2}, {0, 0}));
  conv.constant(number(DType::f32, 1))
      .constant(number(DType::u8, 100))
      .constant(i64({2}, {7, -8}).converted(DType::i32));
  EXPECT_TRUE(multiplies_codes(conv.graph(), conv_def));
  // sums: 3 (x - 10) + 7 = -23, 7, 742, times 0.5; -3 (x - 10) - 8 = 22, -8, -743, times 1.
  EXPECT_EQ(conv.run({u8({1, 1, 3}, {0, 10, 255})})[0].to_integers(), (Integers{88, 104, 255, 122, 92, 0}));
}

TEST(OnnxQGemm, OfTransposedWeightsSumsIntegers) {
  OneNode gemm("QGemm", 13);
  gemm.domain(kMicrosoft, 1).input("u8[1,2]").constant(number(DType::f32, 0.5)).constant(number(DType::u8, 1));
  gemm.constant(i8({3, 2}, {1, 2, 3, 4, -5, -6})).constant(number(DType::f32, 1)).constant(number(DType::i8, 0));
  gemm.constant(i64({3}, {1, 2, 3}).converted(DType::i32)).set("transB", 1);
  EXPECT_TRUE(multiplies_codes(gemm.graph(), linear_def));
  EXPECT_EQ(gemm.run({u8({1, 2}, {3, 0})})[0].to_floats(), (Floats{0.5f, 2, -0.5f}));
}

}  // namespace
}  // namespace hone
