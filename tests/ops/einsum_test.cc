// einsum, det and products of integers on numbers that a person can check.
#include <gtest/gtest.h>

#include "tests/ops/call.h"

namespace hone {
namespace {

Tensor einsum(const char* equation, const std::vector<Tensor>& operands) {
  return call("einsum", operands, {{"equation", std::string(equation)}});
}
std::string einsum_error(const char* equation, const std::vector<Tensor>& operands) {
  return error_of("einsum", operands, {{"equation", std::string(equation)}});
}
const Tensor kMatrix = f32({2, 2}, {1, 2, 3, 4});

TEST(Einsum, SumsOverWhatTheResultLacks) {
  EXPECT_EQ(einsum("ij,jk->ik", {kMatrix, kMatrix}).to_floats(), (Floats{7, 10, 15, 22}));
  EXPECT_EQ(einsum("ij->ji", {kMatrix}).to_floats(), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(einsum("ij->i", {kMatrix}).to_floats(), (Floats{3, 7}));
  EXPECT_EQ(einsum("i,i", {f32({2}, {1, 2}), f32({2}, {3, 4})}).to_floats(), (Floats{11}));
  EXPECT_EQ(einsum("ij,jk,k->i", {kMatrix, kMatrix, f32({2}, {1, 0})}).to_floats(), (Floats{7, 15}));
}

TEST(Einsum, ARepeatedLetterIsTheDiagonal) {
  EXPECT_EQ(einsum("ii", {kMatrix}).to_floats(), (Floats{5}));
  EXPECT_EQ(einsum("ii->i", {kMatrix}).to_floats(), (Floats{1, 4}));
}

TEST(Einsum, AnEllipsisStandsForDimensionsThatBroadcast) {
  const Tensor batches = f32({2, 1, 2}, {1, 1, 2, 2});
  EXPECT_EQ(einsum("...ij,jk->...ik", {batches, kMatrix}).to_floats(), (Floats{4, 6, 8, 12}));
  EXPECT_EQ(einsum("...i->i...", {kMatrix}).to_floats(), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(einsum("... i , ... i", {kMatrix, f32({1, 2}, {1, 10})}).to_floats(), (Floats{21, 43}));
  EXPECT_EQ(einsum("...,...", {kMatrix, f32({2}, {1, 10})}).to_floats(), (Floats{1, 20, 3, 40}));
}

TEST(Einsum, WithoutAnArrowTheLettersThatOccurOnceStaySorted) {
  EXPECT_EQ(einsum("ba", {f32({2, 1}, {1, 2})}).shape(), (Sizes64{1, 2}));
  EXPECT_EQ(einsum("aB", {f32({2, 1}, {1, 2})}).shape(), (Sizes64{1, 2}));
}

TEST(Einsum, IntegersWrap) {
  const int64_t big = int64_t{1} << 62;
  EXPECT_EQ(einsum("i,i", {i64({2}, {big, 1}), i64({2}, {4, 5})}).to_integers(), (Ints{5}));
}

TEST(Einsum, SaysWhatDoesNotFit) {
  EXPECT_NE(einsum_error("ij,jk->ik", {kMatrix}).find("has 2 terms for 1 operands"), std::string::npos);
  EXPECT_NE(einsum_error("ijk->i", {kMatrix}).find("stands for 3 dimensions, operand 0 has 2"), std::string::npos);
  EXPECT_NE(einsum_error("ij->k", {kMatrix}).find("no operand has the dimension 'k'"), std::string::npos);
  EXPECT_NE(einsum_error("ij->ii", {kMatrix}).find("has the dimension 'i' twice"), std::string::npos);
  EXPECT_NE(einsum_error("......->i", {kMatrix}).find("two ellipses"), std::string::npos);
  EXPECT_NE(einsum_error("i1->i", {kMatrix}).find("holds '1'"), std::string::npos);
  EXPECT_NE(einsum_error("ij,jk->ik", {kMatrix, f32({3, 1}, {1, 2, 3})}).find("broadcast"), std::string::npos);
}

TEST(Det, OfTrianglesPermutationsAndSingularMatrices) {
  EXPECT_EQ(call("det", {f32({3, 3}, {2, 5, 7, 0, 3, 9, 0, 0, 4})}).to_floats(), (Floats{24}));
  EXPECT_EQ(call("det", {f32({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})}).to_floats(), (Floats{-1, 0}));
  EXPECT_NE(error_of("det", {f32({1, 2}, {1, 2})}).find("is 1 but must be 2"), std::string::npos);
}

TEST(Matmul, IntegersStayExactAndWrapInTheirOwnType) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_EQ(call("matmul", {i64({1, 2}, {big, 1}), i64({2, 1}, {2, 3})}).to_integers(), (Ints{2 * big + 3}));
  const Tensor bytes = call("matmul", {Tensor::of<uint8_t>({1, 1}, {200}), Tensor::of<uint8_t>({1, 1}, {2})});
  EXPECT_EQ(bytes.dtype(), DType::u8);
  EXPECT_EQ(bytes.to_integers(), (Ints{144}));
  EXPECT_NE(error_of("matmul", {i64({1, 1}, {1}), f32({1, 1}, {1})}).find("a is i64[1,1]"), std::string::npos);
}

}  // namespace
}  // namespace hone
