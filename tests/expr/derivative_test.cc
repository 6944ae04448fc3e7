#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "expr/interpreter.h"
#include "expr/program.h"
#include "tests/support/random_expr.h"

namespace hone {
namespace {

using test::as_f64;
using test::bits;

const Expr x = Expr::arg(0, Scalar::f64), y = Expr::arg(1, Scalar::f64);

double at(const Expr& e, double a, double b) {
  Program program = flatten(e);
  program.args.resize(2, Scalar::f64);
  return as_f64(evaluate(program, std::vector<uint64_t>{bits(a), bits(b)})[0]);
}

struct Sample {
  const char* name;
  Expr e;
};

// Smooth near the points below; each covers a rule.
std::vector<Sample> samples() {
  return {{"neg", -x * y},
          {"abs", abs(x - y)},
          {"sqrt", sqrt(x * x + y)},
          {"exp", exp(x * y)},
          {"log", log(x + y * y)},
          {"tanh", tanh(x * 2 - y)},
          {"erf", erf(x - y * 0.5)},
          {"sin", sin(x * y)},
          {"cos", cos(x + y * 3)},
          {"div", x / (y + 2) + y / x + 1 / x},
          {"min", min(x * x, y)},
          {"max", max(x, y * 3) * x},
          {"pow", pow(x, y)},
          {"pow base", pow(x, 3.5)},
          {"pow exponent", pow(1.5, x)},
          {"fma", fma(x, y, x * x)},
          {"select", select(x < y, x * x, x * y)},
          {"floor", x * floor(x * 4) + trunc(y) * x + rint(x) * y + ceil(y) * x},
          {"cast", cast(Scalar::f64, cast(Scalar::i32, x)) * x},
          {"gelu", 0.5 * x * (1 + erf(x * std::numbers::sqrt2 / 2))},
          {"silu", x / (1 + exp(-x))},
          {"reused", (x * x + y) * (x * x + y)}};
}

// (f(x + h) - f(x - h)) / 2h errs by h^2 f'''/6 < 1e-8 (the third derivatives are below 1e4 here) plus rounding 1e-16
// |f| / h.
TEST(Derivative, AgreesWithFiniteDifferences) {
  const double h = 1e-6;
  for (const Sample& sample : samples()) {
    const Expr d_x = derivative(sample.e, 0), d_y = derivative(sample.e, 1);
    for (const auto& [a, b] : {std::pair(0.7, 1.3), std::pair(1.9, 0.4), std::pair(1.1, 2.7)}) {
      const double slope_x = (at(sample.e, a + h, b) - at(sample.e, a - h, b)) / (2 * h);
      const double slope_y = (at(sample.e, a, b + h) - at(sample.e, a, b - h)) / (2 * h);
      const double bound = 1e-8 + 1e-9 * std::fabs(at(sample.e, a, b));
      EXPECT_NEAR(at(d_x, a, b), slope_x, bound) << sample.name << ": " << to_string(d_x);
      EXPECT_NEAR(at(d_y, a, b), slope_y, bound) << sample.name << ": " << to_string(d_y);
    }
  }
}

TEST(Derivative, ReadsAsAPersonWouldWriteIt) {
  EXPECT_EQ(to_string(derivative(x * y, 0)), "x1");
  EXPECT_EQ(to_string(derivative(x * 3 + y, 0)), "3.0");
  EXPECT_EQ(to_string(derivative(exp(x), 0)), "exp(x0)");
  EXPECT_EQ(to_string(derivative(tanh(x), 0)), "1.0 - tanh(x0) * tanh(x0)");
  EXPECT_EQ(to_string(derivative(-x, 0)), "-1.0");
  EXPECT_EQ(to_string(derivative(y, 0)), "0.0");
}

TEST(Derivative, OfATieIsHalfOfEachSide) {
  const Expr relu = derivative(max(x, 0), 0);
  EXPECT_EQ(at(relu, -1, 0), 0);
  EXPECT_EQ(at(relu, 0, 0), 0.5);
  EXPECT_EQ(at(relu, 2, 0), 1);
  EXPECT_EQ(at(derivative(min(x * 2, x * 4), 0), 0, 0), 3);
  EXPECT_EQ(at(derivative(abs(x), 0), 0, 0), 0);
}

// 0 * infinity has no place in a derivative that is finite.
TEST(Derivative, OfPowersIsFiniteAtZero) {
  EXPECT_EQ(at(derivative(pow(x, y), 0), 0, 0), 0);
  EXPECT_EQ(at(derivative(pow(x, y), 1), 0, 2), 0);
  EXPECT_EQ(at(derivative(pow(x, y), 0), 0, 1), 1);
}

TEST(Derivative, OfTheOtherArgumentAddsNoTerm) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(at(derivative(x + y * floor(y), 0), 1, infinity), 1);
}

TEST(Derivative, KeepsTheTypeAndIsZeroWhereValuesJump) {
  const Expr f = Expr::arg(0, Scalar::f32);
  EXPECT_EQ(derivative(cast(Scalar::f64, f * f), 0).type(), Scalar::f64);
  EXPECT_EQ(to_string(derivative(cast(Scalar::i32, f), 0)), "0");
  EXPECT_EQ(to_string(derivative(f < 0, 0)), "false");
  EXPECT_EQ(to_string(derivative(lookup({1.f, typed(Scalar::f32, 2)}, cast(Scalar::u32, f)), 0)), "0f");
}

// A derivative of anything is an expression of the same type that can be run.
TEST(Derivative, ExistsForEveryRandomExpression) {
  Philox rng(6);
  const test::RandomProgramOptions options{.args = {Scalar::f32, Scalar::f32, Scalar::i32, Scalar::boolean}};
  for (int round = 0; round < 500; ++round) {
    const Program program = test::random_program(rng, options);
    for (const Expr& e : test::to_exprs(program)) {
      const Expr d = derivative(e, 1);
      EXPECT_EQ(d.type(), e.type());
      EXPECT_LE(arg_count(d), 4);
      EXPECT_NO_THROW(Interpreter{flatten(d)});
    }
  }
}

}  // namespace
}  // namespace hone
