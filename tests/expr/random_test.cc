// Random programs through every reader of this layer.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "expr/interpreter.h"
#include "tests/support/naive_scalar.h"
#include "tests/support/random_expr.h"

namespace hone {
namespace {

using namespace test;

const RandomProgramOptions kOptions{
    .args = {Scalar::f32, Scalar::f64, Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64, Scalar::boolean}};

std::vector<uint64_t> random_args(const Program& program, Philox& rng) {
  std::vector<uint64_t> args;
  for (Scalar type : program.args) args.push_back(random_value(type, rng));
  return args;
}

void expect_same(const Program& program, const std::vector<uint64_t>& found, const std::vector<uint64_t>& expected,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t r = 0; r < found.size(); ++r)
    EXPECT_TRUE(same_value(program.result_type(static_cast<int>(r)), found[r], expected[r]))
        << what << ", result " << r << ": found " << std::hex << found[r] << ", expected " << expected[r] << "\n"
        << program.to_text();
}

TEST(RandomExpr, InterpreterAgreesWithTheNaiveEvaluator) {
  Philox rng(1);
  for (int round = 0; round < 10000 && !HasFailure(); ++round) {
    const Program program = random_program(rng, kOptions);
    const std::vector<uint64_t> args = random_args(program, rng);
    const int64_t index = rng.below(1000);
    expect_same(program, evaluate(program, args, index), naive_results(program, args, index), "interpreted");
  }
}

TEST(RandomExpr, SimplifyingKeepsEveryValue) {
  Philox rng(2);
  for (int round = 0; round < 10000 && !HasFailure(); ++round) {
    const Program program = random_program(rng, kOptions);
    Program simplified = flatten(to_exprs(program));
    simplified.args = program.args;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::vector<uint64_t> args = random_args(program, rng);
      expect_same(program, evaluate(simplified, args, 5), naive_results(program, args, 5), simplified.to_text());
    }
  }
}

TEST(RandomExpr, SimplifyingNeverAddsInstructions) {
  Philox rng(3);
  for (int round = 0; round < 3000; ++round) {
    const Program program = random_program(rng, kOptions);
    EXPECT_LE(flatten(to_exprs(program)).code.size(), program.code.size()) << program.to_text();
  }
}

TEST(RandomExpr, CoversEveryOperationOnEveryTypeItIsDefinedFor) {
  Philox rng(5);
  std::set<std::tuple<ExprOp, Scalar, Scalar>> seen;
  for (int round = 0; round < 2000; ++round) {
    const Program program = random_program(rng, kOptions);
    for (const Instruction& in : program.code) {
      const int32_t a = in.op == ExprOp::select ? in.b : in.a;
      if (a >= 0)
        seen.insert({in.op, in.type, in.op == ExprOp::lookup ? in.type : program.code[static_cast<size_t>(a)].type});
    }
  }
  for (int op = static_cast<int>(ExprOp::neg); op <= static_cast<int>(ExprOp::fma); ++op)
    for (Scalar type : kScalars)
      for (Scalar operand : kScalars)
        EXPECT_EQ(seen.contains({static_cast<ExprOp>(op), type, operand}),
                  find_kernel(static_cast<ExprOp>(op), type, operand) != nullptr)
            << to_string(static_cast<ExprOp>(op)) << " from " << to_string(operand) << " to " << to_string(type);
}

// Columns of 600 elements are two full blocks and a rest; each position has its own stride.
TEST(RandomExpr, ColumnsAgreeWithSingleValues) {
  constexpr int64_t kElems = 600;
  Philox rng(4);
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    const Program program = random_program(rng, kOptions);
    std::vector<std::vector<uint64_t>> values(program.args.size());
    std::vector<std::vector<std::byte>> storage(program.args.size());
    std::vector<ConstColumn> columns;
    for (size_t a = 0; a < program.args.size(); ++a) {
      const int64_t stride = (static_cast<int64_t>(a) + round) % 3;
      const size_t bytes = static_cast<size_t>(width_bits(program.args[a]) + 7) / 8;
      for (int64_t i = 0; i < kElems * std::max<int64_t>(stride, 1); ++i) {
        values[a].push_back(random_value(program.args[a], rng));
        const auto* raw = reinterpret_cast<const std::byte*>(&values[a].back());
        storage[a].insert(storage[a].end(), raw, raw + bytes);
      }
      columns.push_back({storage[a].data(), stride});
    }
    std::vector<std::vector<std::byte>> found(program.results.size(), std::vector<std::byte>(kElems * 8));
    std::vector<MutableColumn> results;
    for (auto& column : found) results.push_back({column.data()});
    interpret(program, columns, 7, kElems, results);
    for (int64_t i = 0; i < kElems && !HasFailure(); ++i) {
      std::vector<uint64_t> args, element;
      for (size_t a = 0; a < columns.size(); ++a) args.push_back(values[a][static_cast<size_t>(i * columns[a].stride)]);
      for (size_t r = 0; r < found.size(); ++r) {
        const size_t bytes = static_cast<size_t>(width_bits(program.result_type(static_cast<int>(r))) + 7) / 8;
        uint64_t value = 0;
        std::memcpy(&value, found[r].data() + static_cast<size_t>(i) * bytes, bytes);
        element.push_back(value);
      }
      expect_same(program, element, naive_results(program, args, 7 + i), "element " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace hone
