#include <gtest/gtest.h>

#include "base/error.h"
#include "expr/interpreter.h"
#include "expr/program.h"
#include "tests/support/scalar_values.h"

namespace hone {
namespace {

using test::bits;

const Expr x = Expr::arg(0, Scalar::f32), y = Expr::arg(1, Scalar::f32), u = Expr::arg(3, Scalar::u32);

TEST(Flatten, MergesEqualExpressionsBuiltApart) {
  const Expr results[] = {(x + y) * 2, exp(x + y), exp(y + x)};
  const Program program = flatten(results);
  EXPECT_EQ(program.to_text(),
            "args f32 f32\n"
            "%0 = arg.f32 0\n"
            "%1 = arg.f32 1\n"
            "%2 = add.f32 %0 %1\n"
            "%3 = constant.f32 0x40000000\n"
            "%4 = mul.f32 %2 %3\n"
            "%5 = exp.f32 %2\n"
            "return %4 %5 %5\n");
}

TEST(Flatten, SharedNodesStayShared) {
  Expr e = x;
  for (int i = 0; i < 100; ++i) e = e * e + y;  // as a tree: 2^100 nodes
  EXPECT_EQ(flatten(e).code.size(), 202u);
  EXPECT_EQ(arg_count(derivative(e, 0)), 2);
}

TEST(Flatten, UnusedPositionsAreF32) {
  EXPECT_EQ(flatten(u + 1).args, (std::vector<Scalar>{Scalar::f32, Scalar::f32, Scalar::f32, Scalar::u32}));
}

TEST(Flatten, EqualTablesAreStoredOnce) {
  const Program program = flatten(lookup({1.f, 2.f}, u) + lookup({1.f, 2.f}, u >> 1) + lookup({2.f, 1.f}, u));
  EXPECT_EQ(program.tables.size(), 2u);
  EXPECT_NE(program.to_text().find("table1 0x40000000 0x3f800000"), std::string::npos);
}

TEST(Flatten, RefusesAnArgOfTwoTypes) { EXPECT_THROW(flatten(x + cast(Scalar::f32, Expr::arg(0, Scalar::i32))), Bug); }

TEST(ProgramText, TellsProgramsApart) {
  const Expr a = Expr::arg(0, Scalar::i32), b = Expr::arg(0, Scalar::u32);
  EXPECT_NE(flatten(a >> 1).to_text(), flatten(b >> 1).to_text());
  EXPECT_NE(flatten(x - y).to_text(), flatten(y - x).to_text());
  EXPECT_EQ(flatten(x - y).to_text(), flatten(x - y).to_text());
}

TEST(Interpret, IndexCountsFromTheFirst) {
  std::vector<int64_t> out(700);
  const MutableColumn column{out.data()};
  interpret(flatten(Expr::index() * 3), {}, 1000, 700, {&column, 1});
  for (int64_t i = 0; i < 700; ++i) EXPECT_EQ(out[static_cast<size_t>(i)], 3 * (1000 + i));
}

TEST(Interpret, StridesStepAndRepeat) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{10};
  std::vector<float> out(3);
  const ConstColumn args[] = {{a.data(), 2}, {b.data(), 0}};
  const MutableColumn column{out.data()};
  interpret(flatten(x + y), args, 0, 3, {&column, 1});
  EXPECT_EQ(out, (std::vector<float>{11, 13, 15}));
}

TEST(Interpret, MayWriteOverAnArgument) {
  std::vector<float> values(1000, 3);
  const ConstColumn arg{values.data()};
  const MutableColumn column{values.data()};
  interpret(flatten((x + 1) * x), {&arg, 1}, 0, 1000, {&column, 1});
  EXPECT_EQ(values, std::vector<float>(1000, 12));
}

TEST(Interpret, ResultsMayBeArgsAndConstantsAndRepeat) {
  const Expr results[] = {x, Expr::number(Scalar::f32, 7), x};
  EXPECT_EQ(evaluate(flatten(results), std::vector<uint64_t>{bits(2.f)}),
            (std::vector<uint64_t>{bits(2.f), bits(7.f), bits(2.f)}));
}

TEST(Interpret, NoElementsTouchNothing) {
  const ConstColumn arg{nullptr};
  const MutableColumn column{nullptr};
  EXPECT_NO_THROW(interpret(flatten(x + 1), {&arg, 1}, 0, 0, {&column, 1}));
}

TEST(Interpreter, RunsOfDifferentLengthsAndStridesShareIt) {
  Interpreter interpreter(flatten(x * 2 + y));
  for (const int64_t n : {1, 300, 5, 256, 1000}) {
    for (const int64_t stride : {1, 0}) {
      const std::vector<float> a(static_cast<size_t>(n), 3), b(static_cast<size_t>(n), static_cast<float>(n));
      std::vector<float> out(static_cast<size_t>(n));
      const ConstColumn args[] = {{a.data(), 1}, {b.data(), stride}};
      const MutableColumn column{out.data()};
      interpreter.run(args, 0, n, {&column, 1});
      EXPECT_EQ(out, std::vector<float>(static_cast<size_t>(n), 6 + static_cast<float>(n)));
    }
  }
}

TEST(Interpreter, RefusesProgramsThatReadAhead) {
  Program program = flatten(x + 1);
  program.code.back().a = 2;
  EXPECT_THROW(Interpreter{program}, Bug);
}

TEST(Interpreter, RefusesMissingColumns) {
  Interpreter interpreter(flatten(x + 1));
  EXPECT_THROW(interpreter.run({}, 0, 1, {}), Bug);
}

TEST(EvaluateF32, RunsOneElement) { EXPECT_EQ(evaluate_f32(max(x, 0) * y, std::vector<float>{-1, 2}), 0); }

}  // namespace
}  // namespace hone
