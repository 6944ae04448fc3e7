#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "expr/expr.h"

namespace hone {
namespace {

const Expr x = Expr::arg(0, Scalar::f32), y = Expr::arg(1, Scalar::f32), i = Expr::arg(2, Scalar::i32),
           u = Expr::arg(3, Scalar::u32), c = Expr::arg(4, Scalar::boolean);

// Same text: simplified to that expression.
#define EXPECT_EXPR(found, expected) EXPECT_EQ(to_string(found), to_string(expected))
#define EXPECT_TEXT(found, expected) EXPECT_EQ(to_string(found), expected)

TEST(Simplify, FoldsConstants) {
  EXPECT_TEXT(Expr::number(Scalar::f32, 1.5) * 2 + 1, "4f");
  EXPECT_TEXT(select(Expr::number(Scalar::i32, 3) < 4, x, y), "x0");
  EXPECT_TEXT(cast(Scalar::i64, Expr::number(Scalar::f32, -2.75)), "-2l");
}

TEST(Simplify, FloatIdentitiesKeepNanAndMinusZero) {
  EXPECT_EXPR(x * 1, x);
  EXPECT_EXPR(1 * x, x);
  EXPECT_EXPR(x / 1, x);
  EXPECT_EXPR(x - 0, x);
  EXPECT_EXPR(x + -0.0, x);
  EXPECT_EXPR(x * -1, -x);
  EXPECT_EXPR(-0.0 - x, -x);
  EXPECT_EXPR(-(-x), x);
  EXPECT_EXPR(x + -y, x - y);
  EXPECT_EXPR(x - -y, x + y);
  EXPECT_EXPR(abs(-x), abs(x));
  EXPECT_EXPR(max(x, x), x);
  EXPECT_EXPR(floor(rint(x)), rint(x));
  EXPECT_EXPR(ceil(cast(Scalar::f32, i)), cast(Scalar::f32, i));
  EXPECT_EXPR(pow(x, 1), x);
  EXPECT_EXPR(pow(x, 2), x * x);
  EXPECT_TEXT(pow(x, 0), "1f");
}

TEST(Simplify, LeavesWhatHoldsOnlyForSomeFloats) {
  EXPECT_TEXT(x * 0, "x0 * 0f");        // NaN for infinities
  EXPECT_TEXT(x + 0, "x0 + 0f");        // +0 for -0
  EXPECT_TEXT(x - x, "x0 - x0");        // NaN for infinities
  EXPECT_TEXT(0 - x, "0f - x0");        // +0 for +0
  EXPECT_TEXT(x == x, "x0 == x0");      // false for NaN
  EXPECT_TEXT(~(x < y), "~(x0 < x1)");  // true for NaN
  EXPECT_TEXT(x / x, "x0 / x0");
}

TEST(Simplify, IntegerIdentities) {
  EXPECT_EXPR(i + 0, i);
  EXPECT_TEXT(i * 0, "0");
  EXPECT_TEXT(i - i, "0");
  EXPECT_TEXT(i % 1, "0");
  EXPECT_TEXT(i / 0, "0");
  EXPECT_EXPR(i % 0, i);
  EXPECT_EXPR(i & -1, i);
  EXPECT_EXPR(0 | i, i);
  EXPECT_TEXT(u ^ u, "0u");
  EXPECT_EXPR(u ^ 0xffffffffu, ~u);
  EXPECT_EXPR(~~i, i);
  EXPECT_EXPR(abs(-i), abs(i));
  EXPECT_EXPR(abs(-u), -u);
  EXPECT_EXPR(u << 0, u);
  EXPECT_TEXT(i == i, "true");
  EXPECT_EXPR(~(i < 3), 3 <= i);
}

TEST(Simplify, Booleans) {
  const Expr yes = Expr::constant(Scalar::boolean, 1), no = Expr::constant(Scalar::boolean, 0);
  EXPECT_EXPR(c & yes, c);
  EXPECT_TEXT(c & no, "false");
  EXPECT_EXPR(c == no, ~c);
  EXPECT_EXPR(c != no, c);
  EXPECT_EXPR(~(x == y), x != y);
  EXPECT_EXPR(select(c, yes, no), c);
  EXPECT_EXPR(select(c, no, yes), ~c);
  EXPECT_EXPR(select(~c, x, y), select(c, y, x));
  EXPECT_EXPR(select(c, x, x), x);
}

TEST(Simplify, CastsThatLoseNothingVanish) {
  EXPECT_EXPR(cast(Scalar::f32, x), x);
  EXPECT_EXPR(cast(Scalar::f32, cast(Scalar::f64, x)), x);
  EXPECT_EXPR(cast(Scalar::i32, cast(Scalar::u64, i)), i);
  EXPECT_EXPR(cast(Scalar::boolean, cast(Scalar::f32, c)), c);
  EXPECT_TEXT(cast(Scalar::i32, cast(Scalar::f32, i)), "i32(f32(x2))");  // loses digits above 2^24
  EXPECT_EXPR(bitcast(Scalar::f32, bitcast(Scalar::u32, x)), x);
  EXPECT_EXPR(bitcast(Scalar::u32, bitcast(Scalar::i32, x)), bitcast(Scalar::u32, x));
}

TEST(Substitute, ReplacesArgsAndSimplifies) {
  const Expr e = x * y + x;
  EXPECT_TEXT(substitute(e, std::vector<Expr>{y, 1}), "x1 + x1");
  EXPECT_TEXT(substitute(e, std::vector<Expr>{Expr::number(Scalar::f32, 2), 3}), "8f");
  EXPECT_EQ(substitute(e, std::vector<Expr>{x, y}).op(), ExprOp::add);
  EXPECT_THROW(substitute(e, std::vector<Expr>{x}), Bug);
  EXPECT_THROW(substitute(e, std::vector<Expr>{x, i}), Bug);
}

TEST(ArgCount, IsOnePastTheHighestPosition) {
  EXPECT_EQ(arg_count(x * 2), 1);
  EXPECT_EQ(arg_count(cast(Scalar::f32, i) + x), 3);
  EXPECT_EQ(arg_count(Expr::index()), 0);
}

TEST(Print, UsesTheFewestParentheses) {
  EXPECT_TEXT(0.5f * x * (1.f + erf(x * 0.70710677f)), "0.5f * x0 * (1f + erf(x0 * 0.70710677f))");
  EXPECT_TEXT(x - (y - x), "x0 - (x1 - x0)");
  EXPECT_TEXT((x - y) - x, "x0 - x1 - x0");
  EXPECT_TEXT(-(x + y), "-(x0 + x1)");
  EXPECT_TEXT((u >> 3 & 7) | 1, "x3 >> 3u & 7u | 1u");
  EXPECT_TEXT(select(x <= y, max(x, -2), fma(x, y, x)), "select(x0 <= x1, max(x0, -2f), fma(x0, x1, x0))");
  EXPECT_TEXT(lookup({1, 2.5, Expr::number(Scalar::f64, -1)}, u), "lookup({1.0, 2.5, -1.0}, x3)");
  EXPECT_TEXT(bitcast(Scalar::u32, x) + 1, "bitcast<u32>(x0) + 1u");
  EXPECT_TEXT(cast(Scalar::i64, i) * Expr::index(), "i64(x2) * index");
  EXPECT_TEXT(x * HUGE_VAL, "x0 * f32(inf)");
}

}  // namespace
}  // namespace hone
