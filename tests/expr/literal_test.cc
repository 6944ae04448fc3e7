#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "expr/program.h"
#include "tests/support/scalar_values.h"

namespace hone {
namespace {

using test::bits;

const Expr f = Expr::arg(0, Scalar::f32), d = Expr::arg(1, Scalar::f64), i = Expr::arg(2, Scalar::i32),
           u = Expr::arg(3, Scalar::u32), l = Expr::arg(4, Scalar::i64);

TEST(Literal, TakesTheTypeOfTheOperandBesideIt) {
  EXPECT_EQ((0.5 * f).type(), Scalar::f32);
  EXPECT_EQ((0.5f * d).type(), Scalar::f64);
  EXPECT_EQ((d + 1).operands()[1].bits(), bits(1.0));
  EXPECT_EQ((i + 2.0).operands()[1].bits(), bits(2));
  EXPECT_EQ((u & 0xffffffffu).identity(), u.identity());
  EXPECT_EQ(max(f, 0).type(), Scalar::f32);
  EXPECT_EQ(select(f < 0, 1, d).type(), Scalar::f64);
}

TEST(Literal, IsRoundedOnceToAFloat) {
  EXPECT_EQ((f * 0.1).operands()[1].bits(), bits(0.1f));
  EXPECT_EQ((d * 0.1f).operands()[1].bits(), bits(double{0.1f}));
  const int64_t past_a_tie = (int64_t{1} << 54) + (int64_t{1} << 30) + 1;  // f64 would round it onto the tie
  EXPECT_EQ((f * past_a_tie).operands()[1].bits(), bits(0x1p54f + 0x1p31f));
}

TEST(Literal, ThatAnIntegerCannotHoldIsABug) {
  EXPECT_THROW(i + 0.5, Bug);
  EXPECT_THROW(u + -1, Bug);
  EXPECT_THROW(i + int64_t{1} * 2147483648, Bug);
  EXPECT_THROW(typed(Scalar::u64, 18446744073709551616.0), Bug);
  EXPECT_THROW(typed(Scalar::i64, std::nan("")), Bug);
  EXPECT_THROW(typed(Scalar::boolean, 2), Bug);
  EXPECT_EQ(typed(Scalar::i64, INT64_MIN).bits(), bits(INT64_MIN));
  EXPECT_EQ(typed(Scalar::u64, 0x1p63).bits(), uint64_t{1} << 63);
}

TEST(Literal, StaysALiteralAmongLiterals) {
  const Expr half = Expr(1) / Expr(2);
  ASSERT_TRUE(half.is_literal());
  EXPECT_EQ(half.value(), 0.5);
  EXPECT_EQ((half * d).operands()[0].bits(), bits(0.5));
  EXPECT_EQ((l + (Expr(int64_t{1} << 60) + 1)).operands()[1].bits(), (uint64_t{1} << 60) + 1);
  EXPECT_EQ((u + (Expr(1) << 4)).operands()[1].bits(), 16u);
  EXPECT_EQ(sqrt(Expr(2.0)).value(), std::sqrt(2.0));
  EXPECT_THROW(Expr(1.5) & Expr(1), Bug);
}

TEST(Literal, ComparedGivesABoolean) {
  const Expr less = Expr(1) < Expr(2.5);
  EXPECT_EQ(less.type(), Scalar::boolean);
  EXPECT_FALSE(less.is_literal());
  EXPECT_EQ(less.bits(), 1u);
}

TEST(Literal, AloneIsF32) {
  const Program program = flatten(Expr(0.1));
  EXPECT_EQ(program.result_type(0), Scalar::f32);
  EXPECT_EQ(evaluate(program, {})[0], bits(0.1f));
  EXPECT_EQ(select(f < 0, 1, 0).type(), Scalar::f32);
}

// Each literal makes a node that dies at once; another must not be taken for it.
TEST(Literal, SeveralResultsKeepTheirOwnValues) {
  const Expr results[] = {Expr(1), Expr(2), Expr(3), f};
  const std::vector<uint64_t> values = evaluate(flatten(results), std::vector<uint64_t>{bits(4.f)});
  EXPECT_EQ(values, (std::vector<uint64_t>{bits(1.f), bits(2.f), bits(3.f), bits(4.f)}));
}

TEST(Literal, IsConvertedByACast) {
  EXPECT_EQ(cast(Scalar::i32, 2.9).bits(), 2u);
  EXPECT_EQ(cast(Scalar::u32, 1e30).bits(), UINT32_MAX);
  EXPECT_EQ(bitcast(Scalar::u32, 1.f).bits(), 0x3f800000u);
}

}  // namespace
}  // namespace hone
