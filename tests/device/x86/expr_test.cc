// Generated code obeys the semantics of expr/expr.h on every level of this machine: bit for bit where they are exact,
// within kMaxUlpF32 where they are not.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/pointwise/plan.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/support/random_expr.h"

namespace hone {
namespace {

using namespace test;

uint64_t read_value(DType dtype, const std::byte* data, size_t i) {
  uint64_t value = 0;
  std::memcpy(&value, data + i * static_cast<size_t>(size_bytes(dtype)), static_cast<size_t>(size_bytes(dtype)));
  return value;
}

// Runs the program over columns of bit patterns, compiled and element by element.
void expect_like_interpreter(const Program& program, const std::vector<std::vector<uint64_t>>& columns,
                             const X86Target& target) {
  const PointwisePlan plan = flat_plan(program);
  const size_t n = columns[0].size();
  std::vector<Guarded> operands, results;
  std::vector<void*> in, out;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto size = static_cast<size_t>(size_bytes(plan.operands[i].dtype));
    operands.emplace_back(n * size);
    for (size_t k = 0; k < n; ++k) std::memcpy(operands.back().data() + k * size, &columns[i][k], size);
  }
  for (DType dtype : plan.results) results.emplace_back(n * static_cast<size_t>(size_bytes(dtype)));
  for (Guarded& g : operands) in.push_back(g.data());
  for (Guarded& g : results) out.push_back(g.data());
  CompiledPlan(plan, target).run(flat_args(in, out, static_cast<int64_t>(n)));
  for (size_t k = 0; k < n; ++k) {
    std::vector<uint64_t> args;
    for (const auto& column : columns) args.push_back(column[k]);
    const std::vector<uint64_t> expected = evaluate(program, args, static_cast<int64_t>(k));
    for (size_t j = 0; j < expected.size(); ++j) {
      const uint64_t found = read_value(plan.results[j], results[j].data(), k);
      ASSERT_TRUE(same_value(program.result_type(static_cast<int>(j)), found, expected[j]))
          << to_string(target) << ", element " << k << ", result " << j << ": found " << std::hex << found
          << ", expected " << expected[j] << "\n"
          << program.to_text();
    }
  }
  for (const Guarded& g : results) EXPECT_TRUE(g.intact());
}

TEST(GeneratedExpr, RandomProgramsAgreeWithTheInterpreter) {
  const std::vector<Scalar> types(std::begin(kScalars), std::end(kScalars));
  Philox rng(11);
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const Program program = random_program(rng, {.args = types, .transcendental = false});
    std::vector<std::vector<uint64_t>> columns(types.size());
    for (size_t i = 0; i < types.size(); ++i)
      for (int k = 0; k < 53; ++k) columns[i].push_back(random_value(types[i], rng));
    for (const X86Target& target : target_levels()) expect_like_interpreter(program, columns, target);
  }
}

// Every pair of edge values of a type.
std::vector<std::vector<uint64_t>> edge_pairs(Scalar type) {
  std::vector<std::vector<uint64_t>> columns(2);
  for (uint64_t x : edge_values(type))
    for (uint64_t y : edge_values(type)) columns[0].push_back(x), columns[1].push_back(y);
  return columns;
}

void check_operations(Scalar type, const std::vector<ExprOp>& ops) {
  for (size_t first = 0; first < ops.size(); first += 8) {
    Program program;
    program.args = {type, type};
    program.code = {{.op = ExprOp::arg, .type = type, .payload = 0}, {.op = ExprOp::arg, .type = type, .payload = 1}};
    for (size_t i = first; i < std::min(first + 8, ops.size()); ++i) {
      const bool comparison = ops[i] >= ExprOp::eq && ops[i] <= ExprOp::le;
      program.results.push_back(static_cast<int32_t>(program.code.size()));
      program.code.push_back(
          {.op = ops[i], .type = comparison ? Scalar::boolean : type, .a = 0, .b = ops[i] >= ExprOp::add ? 1 : -1});
      if (ops[i] == ExprOp::fma) program.code.back().c = 0;
    }
    for (const X86Target& target : target_levels()) expect_like_interpreter(program, edge_pairs(type), target);
  }
}

TEST(GeneratedExpr, EveryOperationIsExactOnAllPairsOfEdgeValues) {
  using enum ExprOp;
  for (Scalar type : kScalars) {
    if (type == Scalar::boolean) check_operations(type, {bit_not, bit_and, bit_or, bit_xor, eq, ne});
    else if (is_float(type))
      check_operations(type,
                       {neg, abs, floor, ceil, trunc, rint, sqrt, add, sub, mul, div, min, max, eq, ne, lt, le, fma});
    else
      check_operations(type, {neg,   abs,     bit_not, add,     sub, mul, div, rem, min, max,
                              mulhi, bit_and, bit_or,  bit_xor, shl, shr, eq,  ne,  lt,  le});
  }
}

TEST(GeneratedExpr, EveryCastIsExactOnEdgeValues) {
  Philox rng(3);
  for (Scalar from : kScalars) {
    Program program;
    program.args = {from};
    program.code = {{.op = ExprOp::arg, .type = from, .payload = 0}};
    for (Scalar to : kScalars) {
      if (to == from) continue;
      program.results.push_back(static_cast<int32_t>(program.code.size()));
      program.code.push_back({.op = ExprOp::cast, .type = to, .a = 0});
    }
    std::vector<uint64_t> column = edge_values(from);
    for (int i = 0; i < 200; ++i) column.push_back(random_value(from, rng));
    for (const X86Target& target : target_levels()) expect_like_interpreter(program, {column}, target);
  }
}

TEST(GeneratedExpr, LookupWrapsAndPadsTablesOfEverySize) {
  for (size_t size : {1, 2, 5, 8, 13, 16, 31, 32, 40, 64, 65, 200, 256}) {
    Program program;
    program.args = {Scalar::u32};
    program.code = {{.op = ExprOp::arg, .type = Scalar::u32, .payload = 0}};
    for (Scalar type : {Scalar::f32, Scalar::i32, Scalar::f64, Scalar::boolean}) {
      std::vector<uint64_t> table(size);
      for (size_t i = 0; i < size; ++i)
        table[i] = type == Scalar::f32       ? bits(0.5f * static_cast<float>(i + 1))
                   : type == Scalar::f64     ? bits(1.5 * static_cast<double>(i + 1))
                   : type == Scalar::boolean ? i % 3 == 0
                                             : i * i + 1;
      program.results.push_back(static_cast<int32_t>(program.code.size()));
      program.code.push_back(
          {.op = ExprOp::lookup, .type = type, .a = 0, .payload = static_cast<int64_t>(program.tables.size())});
      program.tables.push_back(table);
    }
    std::vector<uint64_t> column;
    for (uint32_t i = 0; i < 530; ++i) column.push_back(i);
    column.push_back(0xffffffff);
    for (const X86Target& target : target_levels()) expect_like_interpreter(program, {column}, target);
  }
}

// ---- Functions with a stated error.

std::vector<float> apply(const Expr& e, const std::vector<float>& x, const std::vector<float>& y,
                         const X86Target& target) {
  std::vector<float> result(x.size());
  Program program = flatten(e);
  program.args.resize(2, Scalar::f32);
  void* const in[] = {const_cast<float*>(x.data()), const_cast<float*>(y.data())};
  void* const out[] = {result.data()};
  CompiledPlan(flat_plan(program), target).run(flat_args(in, out, static_cast<int64_t>(x.size())));
  return result;
}

// |found - exact| in units of the last place of an f32 at `exact`.
double ulps(float found, double exact) {
  if (std::isnan(exact)) return std::isnan(found) ? 0 : HUGE_VAL;
  const auto rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(found) || std::isnan(found))
    return found == rounded || std::nextafter(rounded, 0.0f) == found ? 0 : HUGE_VAL;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(rounded == 0 ? 0x1p-149f : rounded), -126) - 23);
  return std::abs(found - exact) / unit;
}

// All f32 between low and high whose bits are `step` apart.
std::vector<float> sweep(float low, float high, uint32_t step) {
  std::vector<float> values;
  for (uint32_t b = std::bit_cast<uint32_t>(low); b <= std::bit_cast<uint32_t>(high); b += step)
    values.push_back(std::bit_cast<float>(b));
  return values;
}

struct Function {
  const char* name;
  Expr (*make)(Expr);
  double (*exact)(double);
  float limit;  // of |x|
};

class UnaryFunction : public testing::TestWithParam<Function> {};

TEST_P(UnaryFunction, StaysWithinItsBoundEverywhere) {
  const Function& f = GetParam();
  std::vector<float> x = sweep(0, f.limit, 7919);  // 270,000 magnitudes of both signs, subnormals included
  for (size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  for (const X86Target& target : target_levels()) {
    const std::vector<float> found = apply(f.make(Expr::arg(0, Scalar::f32)), x, x, target);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (const double error = ulps(found[i], f.exact(x[i])); error > worst) worst = error, at = x[i];
    EXPECT_LE(worst, kMaxUlpF32) << f.name << " at " << to_string(target) << ", x = " << at;
    RecordProperty(fmt::format("ulp_{}", to_string(target)), fmt::format("{:.2f}", worst));
  }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
INSTANTIATE_TEST_SUITE_P(
    All, UnaryFunction,
    testing::Values(Function{"exp", exp, std::exp, kInfinity}, Function{"log", log, std::log, kInfinity},
                    Function{"tanh", tanh, std::tanh, kInfinity}, Function{"erf", erf, std::erf, kInfinity},
                    Function{"sin", sin, std::sin, kInfinity}, Function{"cos", cos, std::cos, kInfinity}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Pow, StaysWithinItsBound) {
  Philox rng(5);
  std::vector<float> x, y;
  for (int i = 0; i < 200000; ++i) {
    x.push_back(std::exp(rng.uniform(-87.0f, 88.0f)));
    y.push_back(rng.uniform(-1.0f, 1.0f) * 90 / std::max(0.5f, std::abs(std::log(x.back()))));
    if (i % 3 == 0) x.back() = -x.back(), y.back() = std::rint(y.back());
    if (i % 5 == 0) x.back() = 1 + rng.uniform(-1e-3f, 1e-3f), y.back() *= 1000;
  }
  for (const X86Target& target : target_levels()) {
    const std::vector<float> found = apply(pow(Expr::arg(0, Scalar::f32), Expr::arg(1, Scalar::f32)), x, y, target);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulps(found[i], std::pow(double{x[i]}, double{y[i]})), 1) << x[i] << " ^ " << y[i];
  }
}

TEST(Pow, SpecialValuesAreThoseOfAnnexF) {
  const float nan = std::nanf(""), inf = kInfinity;
  const std::vector<float> special{0.0f,   -0.0f,   1,   -1,   2,   -2,          3,           -3,    0.5f,  -0.5f,
                                   1e-45f, -1e-45f, inf, -inf, nan, 16777216.0f, 16777217.0f, 3e38f, -3e38f};
  std::vector<float> x, y;
  for (float a : special)
    for (float b : special) x.push_back(a), y.push_back(b);
  for (const X86Target& target : target_levels()) {
    const std::vector<float> found = apply(pow(Expr::arg(0, Scalar::f32), Expr::arg(1, Scalar::f32)), x, y, target);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto expected = static_cast<float>(std::pow(double{x[i]}, double{y[i]}));
      EXPECT_TRUE(same_value(Scalar::f32, bits(found[i]), bits(expected)))
          << x[i] << " ^ " << y[i] << " = " << found[i] << ", not " << expected;
    }
  }
}

TEST(UnaryFunctions, SpecialValuesAreThoseOfAnnexF) {
  const float inf = kInfinity, nan = std::nanf("");
  struct Case {
    Expr (*make)(Expr);
    float x, expected;
  };
  const Case cases[] = {
      {exp, inf, inf},    {exp, -inf, 0},  {exp, 0, 1},         {exp, nan, nan},      {log, 0, -inf},
      {log, -0.0f, -inf}, {log, 1, 0},     {log, -1, nan},      {log, inf, inf},      {log, -inf, nan},
      {log, nan, nan},    {tanh, inf, 1},  {tanh, -inf, -1},    {tanh, -0.0f, -0.0f}, {tanh, nan, nan},
      {erf, inf, 1},      {erf, -inf, -1}, {erf, -0.0f, -0.0f}, {erf, nan, nan},      {sin, -0.0f, -0.0f},
      {sin, inf, nan},    {sin, nan, nan}, {cos, 0, 1},         {cos, -inf, nan},     {cos, nan, nan}};
  for (const X86Target& target : target_levels())
    for (const Case& c : cases) {
      const float found = apply(c.make(Expr::arg(0, Scalar::f32)), {c.x}, {c.x}, target)[0];
      EXPECT_TRUE(same_value(Scalar::f32, bits(found), bits(c.expected)))
          << to_string(c.make(Expr::arg(0, Scalar::f32))) << " of " << c.x << " is " << found << ", not " << c.expected;
    }
}

TEST(GeneratedExpr, FunctionsOfF64AreThoseOfTheLibrary) {
  const Expr x = Expr::arg(0, Scalar::f64), y = Expr::arg(1, Scalar::f64);
  const Expr all[] = {exp(x), log(x), tanh(x), erf(x), sin(x), cos(x), pow(x, y)};
  std::vector<std::vector<uint64_t>> columns(2);
  Philox rng(9);
  for (int i = 0; i < 100; ++i)
    columns[0].push_back(bits(rng.uniform() * 20)), columns[1].push_back(bits(rng.uniform() * 4 - 2));
  for (const X86Target& target : target_levels()) expect_like_interpreter(flatten(all), columns, target);
}

}  // namespace
}  // namespace hone
