// The rules at the top of expr.h, one test each, by values that a person can check.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "expr/program.h"
#include "tests/support/scalar_values.h"

namespace hone {
namespace {

using test::as_f32;
using test::as_f64;
using test::bits;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
constexpr Scalar kScalar = std::is_same_v<T, float>      ? Scalar::f32
                           : std::is_same_v<T, double>   ? Scalar::f64
                           : std::is_same_v<T, int32_t>  ? Scalar::i32
                           : std::is_same_v<T, uint32_t> ? Scalar::u32
                           : std::is_same_v<T, int64_t>  ? Scalar::i64
                           : std::is_same_v<T, uint64_t> ? Scalar::u64
                                                         : Scalar::boolean;

// The bits of f(values...), computed by the interpreter from args and, by folding, from constants; both must agree.
template <class F, class... Ts>
uint64_t run(F f, Ts... values) {
  int position = 0;
  const auto arg = [&position](auto v) { return Expr::arg(position++, kScalar<decltype(v)>); };
  const std::vector<Expr> args{arg(values)...}, constants{Expr::constant(kScalar<Ts>, bits(values))...};
  const uint64_t given[] = {bits(values)...};
  const auto apply = [&f](const std::vector<Expr>& e) {
    if constexpr (sizeof...(Ts) == 1) return f(e[0]);
    else if constexpr (sizeof...(Ts) == 2) return f(e[0], e[1]);
    else return f(e[0], e[1], e[2]);
  };
  const Expr interpreted = apply(args), folded = apply(constants);
  EXPECT_EQ(folded.op(), ExprOp::constant);
  const uint64_t result = evaluate(flatten(interpreted), given)[0];
  EXPECT_TRUE(test::same_value(interpreted.type(), result, folded.bits())) << to_string(interpreted);
  return result;
}

Expr add(Expr a, Expr b) { return a + b; }
Expr sub(Expr a, Expr b) { return a - b; }
Expr mul(Expr a, Expr b) { return a * b; }
Expr quotient(Expr a, Expr b) { return a / b; }
Expr remainder_of(Expr a, Expr b) { return a % b; }
Expr shl(Expr a, Expr b) { return a << b; }
Expr shr(Expr a, Expr b) { return a >> b; }
Expr low(Expr a, Expr b) { return min(a, b); }
Expr high(Expr a, Expr b) { return max(a, b); }
Expr upper(Expr a, Expr b) { return mulhi(a, b); }
auto to(Scalar type) {
  return [type](Expr x) { return cast(type, x); };
}

TEST(Integers, WrapModuloTheirWidth) {
  EXPECT_EQ(run(add, INT32_MAX, 1), bits(INT32_MIN));
  EXPECT_EQ(run(sub, 0u, 1u), bits(UINT32_MAX));
  EXPECT_EQ(run(mul, INT64_MIN, int64_t{-1}), bits(INT64_MIN));
  EXPECT_EQ(run(mul, 65536u, 65537u), bits(65536u));
  EXPECT_EQ(run([](Expr x) { return -x; }, INT32_MIN), bits(INT32_MIN));
  EXPECT_EQ(run([](Expr x) { return abs(x); }, INT64_MIN), bits(INT64_MIN));
}

TEST(Integers, DivisionTruncatesAndByZeroGivesZero) {
  EXPECT_EQ(run(quotient, -7, 2), bits(-3));
  EXPECT_EQ(run(remainder_of, -7, 2), bits(-1));
  EXPECT_EQ(run(remainder_of, 7, -2), bits(1));
  EXPECT_EQ(run(quotient, 7, 0), bits(0));
  EXPECT_EQ(run(remainder_of, 7, 0), bits(7));
  EXPECT_EQ(run(quotient, uint64_t{7}, uint64_t{0}), 0u);
  EXPECT_EQ(run(remainder_of, uint64_t{7}, uint64_t{0}), 7u);
}

TEST(Integers, TheSmallestOverMinusOneWraps) {
  EXPECT_EQ(run(quotient, INT32_MIN, -1), bits(INT32_MIN));
  EXPECT_EQ(run(remainder_of, INT32_MIN, -1), bits(0));
  EXPECT_EQ(run(quotient, INT64_MIN, int64_t{-1}), bits(INT64_MIN));
  EXPECT_EQ(run(remainder_of, INT64_MIN, int64_t{-1}), bits(int64_t{0}));
}

TEST(Integers, MulhiIsTheUpperHalf) {
  EXPECT_EQ(run(upper, 0x80000000u, 6u), bits(3u));
  EXPECT_EQ(run(upper, -1, 1), bits(-1));
  EXPECT_EQ(run(upper, UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(run(upper, INT64_MIN, int64_t{2}), bits(int64_t{-1}));
}

TEST(Integers, ShiftCountsAreModuloTheWidth) {
  EXPECT_EQ(run(shl, 1u, 33u), bits(2u));
  EXPECT_EQ(run(shl, 1, -1), bits(INT32_MIN));
  EXPECT_EQ(run(shr, -8, 1), bits(-4));
  EXPECT_EQ(run(shr, 0xfffffff8u, 1u), bits(0x7ffffffcu));
  EXPECT_EQ(run(shr, INT64_MIN, int64_t{127}), bits(int64_t{-1}));
}

TEST(Floats, MinAndMaxPropagateNanAndOrderZeros) {
  EXPECT_EQ(run(low, 0.f, -0.f), bits(-0.f));
  EXPECT_EQ(run(low, -0.f, 0.f), bits(-0.f));
  EXPECT_EQ(run(high, 0.f, -0.f), bits(0.f));
  EXPECT_EQ(run(high, -0.0, 0.0), bits(0.0));
  EXPECT_EQ(run(low, -kInf, 3.f), bits(-kInf));
  for (float x : {0.f, 1.f, -kInf, kNan}) {
    EXPECT_TRUE(std::isnan(as_f32(run(low, x, kNan))));
    EXPECT_TRUE(std::isnan(as_f32(run(high, kNan, x))));
  }
}

TEST(Floats, ComparisonsWithNanAreFalseExceptNotEqual) {
  const auto compare = [](auto op) { return run(op, kNan, 1.f) + run(op, kNan, kNan); };
  EXPECT_EQ(compare([](Expr a, Expr b) { return a == b; }), 0u);
  EXPECT_EQ(compare([](Expr a, Expr b) { return a < b; }), 0u);
  EXPECT_EQ(compare([](Expr a, Expr b) { return a <= b; }), 0u);
  EXPECT_EQ(compare([](Expr a, Expr b) { return a > b; }), 0u);
  EXPECT_EQ(compare([](Expr a, Expr b) { return a >= b; }), 0u);
  EXPECT_EQ(compare([](Expr a, Expr b) { return a != b; }), 2u);
  EXPECT_EQ(run([](Expr a, Expr b) { return a == b; }, 0.f, -0.f), 1u);
}

TEST(Floats, SignOperationsTouchTheSignBitOnly) {
  EXPECT_EQ(run([](Expr x) { return -x; }, 0.f), bits(-0.f));
  const Expr x = Expr::arg(0, Scalar::u32);
  const auto through = [&](auto op, uint32_t pattern) {
    return evaluate(flatten(bitcast(Scalar::u32, op(bitcast(Scalar::f32, x)))), std::vector<uint64_t>{pattern})[0];
  };
  EXPECT_EQ(through([](Expr e) { return -e; }, 0x7fc01234u), 0xffc01234u);
  EXPECT_EQ(through([](Expr e) { return abs(e); }, 0xffc01234u), 0x7fc01234u);
}

TEST(Floats, RoundingToWholeNumbers) {
  struct Row {
    float x, floor, ceil, trunc, rint;
  };
  for (const Row& row :
       {Row{2.5f, 2, 3, 2, 2}, Row{3.5f, 3, 4, 3, 4}, Row{-2.5f, -3, -2, -2, -2}, Row{-0.25f, -1, -0.f, -0.f, -0.f},
        Row{0.75f, 0, 1, 0, 1}, Row{-0.f, -0.f, -0.f, -0.f, -0.f}, Row{8388607.5f, 8388607, 8388608, 8388607, 8388608},
        Row{1e30f, 1e30f, 1e30f, 1e30f, 1e30f}, Row{-kInf, -kInf, -kInf, -kInf, -kInf}}) {
    EXPECT_EQ(run([](Expr x) { return floor(x); }, row.x), bits(row.floor)) << row.x;
    EXPECT_EQ(run([](Expr x) { return ceil(x); }, row.x), bits(row.ceil)) << row.x;
    EXPECT_EQ(run([](Expr x) { return trunc(x); }, row.x), bits(row.trunc)) << row.x;
    EXPECT_EQ(run([](Expr x) { return rint(x); }, row.x), bits(row.rint)) << row.x;
  }
}

// (1 + e)(1 - e) = 1 - e^2: with one rounding the sum with -1 keeps -e^2, with two it is 0.
TEST(Floats, OnlyFmaRoundsOnce) {
  const float e = 0x1p-23f;
  EXPECT_EQ(run([](Expr a, Expr b, Expr c) { return fma(a, b, c); }, 1 + e, 1 - e, -1.f), bits(-0x1p-46f));
  EXPECT_EQ(run([](Expr a, Expr b, Expr c) { return a * b + c; }, 1 + e, 1 - e, -1.f), bits(0.f));
}

TEST(Floats, SubnormalsAreKept) { EXPECT_EQ(run(mul, 0x1p-126f, 0x1p-20f), bits(0x1p-146f)); }

TEST(Floats, TranscendentalFunctionsRoundTheF64ValueOnce) {
  EXPECT_EQ(run([](Expr x) { return exp(x); }, 1.f), bits(2.7182817f));
  EXPECT_EQ(run([](Expr x) { return log(x); }, 0.f), bits(-kInf));
  EXPECT_EQ(run([](Expr x) { return tanh(x); }, kInf), bits(1.f));
  EXPECT_EQ(run([](Expr x) { return erf(x); }, -kInf), bits(-1.f));
  EXPECT_EQ(run([](Expr x) { return sin(x); }, -0.f), bits(-0.f));
  EXPECT_EQ(run([](Expr x) { return cos(x); }, 0.f), bits(1.f));
  EXPECT_EQ(run([](Expr x, Expr y) { return pow(x, y); }, 2.f, -3.f), bits(0.125f));
  EXPECT_EQ(run([](Expr x, Expr y) { return pow(x, y); }, kNan, 0.f), bits(1.f));
  EXPECT_TRUE(std::isnan(as_f32(run([](Expr x) { return sqrt(x); }, -1.f))));
}

TEST(Cast, FloatToIntegerTruncatesSaturatesAndTakesNanToZero) {
  EXPECT_EQ(run(to(Scalar::i32), -2.9f), bits(-2));
  EXPECT_EQ(run(to(Scalar::i32), 2147483648.f), bits(INT32_MAX));
  EXPECT_EQ(run(to(Scalar::i32), -kInf), bits(INT32_MIN));
  EXPECT_EQ(run(to(Scalar::i32), 2147483646.5), bits(2147483646));
  EXPECT_EQ(run(to(Scalar::u32), -1.f), bits(0u));
  EXPECT_EQ(run(to(Scalar::u32), 4294967040.f), bits(4294967040u));
  EXPECT_EQ(run(to(Scalar::u32), 1e10f), bits(UINT32_MAX));
  EXPECT_EQ(run(to(Scalar::i64), 9223372036854775808.f), bits(INT64_MAX));
  EXPECT_EQ(run(to(Scalar::u64), 9223372036854775808.0), uint64_t{1} << 63);
  EXPECT_EQ(run(to(Scalar::u64), kInf), UINT64_MAX);
  for (Scalar type : {Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64}) EXPECT_EQ(run(to(type), kNan), 0u);
}

TEST(Cast, IntegerToFloatRoundsOnce) {
  EXPECT_EQ(run(to(Scalar::f32), 16777217), bits(16777216.f));
  // A detour through f64 would round this down to the tie and then to even.
  EXPECT_EQ(run(to(Scalar::f32), (int64_t{1} << 54) + (int64_t{1} << 30) + 1), bits(0x1p54f + 0x1p31f));
  EXPECT_EQ(run(to(Scalar::f32), UINT64_MAX), bits(0x1p64f));
  EXPECT_EQ(run(to(Scalar::f64), UINT64_MAX - 2048), bits(18446744073709549568.0));
}

TEST(Cast, IntegersExtendBySignAndWrap) {
  EXPECT_EQ(run(to(Scalar::i64), -1), bits(int64_t{-1}));
  EXPECT_EQ(run(to(Scalar::u64), -1), UINT64_MAX);
  EXPECT_EQ(run(to(Scalar::i64), UINT32_MAX), bits(int64_t{UINT32_MAX}));
  EXPECT_EQ(run(to(Scalar::i32), int64_t{0x180000001}), bits(INT32_MIN + 1));
}

TEST(Cast, BooleansAreZeroAndOne) {
  EXPECT_EQ(run(to(Scalar::boolean), kNan), 1u);
  EXPECT_EQ(run(to(Scalar::boolean), -0.f), 0u);
  EXPECT_EQ(run(to(Scalar::boolean), 256), 1u);
  EXPECT_EQ(run(to(Scalar::f32), true), bits(1.f));
  EXPECT_EQ(run(to(Scalar::i64), true), 1u);
}

TEST(Cast, NarrowingRoundsToNearestEven) {
  EXPECT_EQ(run(to(Scalar::f32), 1 + 0x1p-24), bits(1.f));
  EXPECT_EQ(run(to(Scalar::f32), 1e300), bits(kInf));
}

TEST(Bitcast, KeepsThePattern) {
  EXPECT_EQ(run([](Expr x) { return bitcast(Scalar::u32, x); }, 1.f), 0x3f800000u);
  EXPECT_EQ(as_f64(run([](Expr x) { return bitcast(Scalar::f64, x); }, uint64_t{0x3ff0000000000000})), 1.0);
  EXPECT_THROW(bitcast(Scalar::f64, Expr::arg(0, Scalar::f32)), Bug);
}

TEST(Lookup, WrapsAtThePowerOfTwoAndReadsZeroPastTheEnd) {
  const auto table = [](Expr i) { return lookup({10.f, 20.f, typed(Scalar::f32, 30.f)}, i); };
  EXPECT_EQ(run(table, 2u), bits(30.f));
  EXPECT_EQ(run(table, 3u), bits(0.f));
  EXPECT_EQ(run(table, 5u), bits(20.f));
}

TEST(Select, ReturnsTheChosenSideUnchanged) {
  const auto choose = [](Expr c, Expr a, Expr b) { return select(c, a, b); };
  EXPECT_EQ(run(choose, true, -0.f, kNan), bits(-0.f));
  EXPECT_EQ(run(choose, false, kNan, 2.f), bits(2.f));
}

TEST(Types, AreNeverMixed) {
  const Expr f = Expr::arg(0, Scalar::f32), d = Expr::arg(1, Scalar::f64), i = Expr::arg(2, Scalar::i32), c = f < 0;
  EXPECT_THROW(f + d, Bug);
  EXPECT_THROW(i + cast(Scalar::u32, i), Bug);
  EXPECT_THROW(f % f, Bug);
  EXPECT_THROW(f & f, Bug);
  EXPECT_THROW(sqrt(i), Bug);
  EXPECT_THROW(c + c, Bug);
  EXPECT_THROW(c < c, Bug);
  EXPECT_THROW(select(f, f, f), Bug);
  EXPECT_THROW(fma(i, i, i), Bug);
  EXPECT_THROW(lookup({1, 2}, i), Bug);
  EXPECT_THROW(Expr().type(), Bug);
}

}  // namespace
}  // namespace hone
