// A row rule states the same function as the op's evaluation: run here by the interpreter, one row at a time, in f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/program.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/support/op_cases.h"

namespace hone {
namespace {

bool works_on_the_last_axis(const OpCase& one) {
  const auto rank = static_cast<int64_t>(one.operands[0]->shape().size());
  if (one.attributes.has("axes")) {
    const int64_t axis = one.attributes.get<Integers>("axes")[0];
    return axis == -1 || axis == rank - 1;
  }
  const int64_t axis = one.attributes.get_or<int64_t>("axis", -1);
  return axis == -1 || axis == rank - 1;
}

// Values by argument position: operands, length, reductions, kept elements.
class RowRun {
 public:
  RowRun(const RowRule& rule, const OpCase& one)
      : rule_(rule), operands_(one.operands.size()), length_(one.operands[0]->dim(-1)) {
    for (const auto& operand : one.operands) columns_.push_back(operand->to_floats());
  }

  std::vector<float> row(int64_t first) {
    const size_t r = rule_.reductions.size();
    values_.assign(operands_ + 1 + 2 * r, 0);
    values_[operands_] = static_cast<float>(length_);
    kept_.assign(r, std::vector<float>(static_cast<size_t>(length_)));
    for (size_t j = 0; j < r; ++j) reduce(j, first);
    std::vector<float> out;
    for (int64_t i = 0; i < length_; ++i) out.push_back(at(rule_.results[0], first, i));
    return out;
  }

 private:
  float at(const Expr& e, int64_t first, int64_t i) {
    for (size_t o = 0; o < operands_; ++o)
      values_[o] = columns_[o][static_cast<size_t>(columns_[o].size() == columns_[0].size() ? first + i : i)];
    for (size_t j = 0; j < kept_.size(); ++j)
      values_[operands_ + 1 + kept_.size() + j] = kept_[j][static_cast<size_t>(i)];
    return evaluate_f32(e, values_);
  }

  void reduce(size_t j, int64_t first) {
    using Kind = Reduction::Kind;
    const Reduction& reduction = rule_.reductions[j];
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double total = reduction.kind == Kind::sum ? 0 : reduction.kind == Kind::max ? -kInfinity : kInfinity;
    for (int64_t i = 0; i < length_; ++i) {
      const float element = at(reduction.element, first, i);
      if (reduction.keep) kept_[j][static_cast<size_t>(i)] = element;
      total = reduction.kind == Kind::sum   ? total + element
              : reduction.kind == Kind::max ? std::max<double>(total, element)
                                            : std::min<double>(total, element);
    }
    values_[operands_ + 1 + j] = static_cast<float>(total);
  }

  const RowRule& rule_;
  size_t operands_;
  int64_t length_;
  std::vector<std::vector<float>> columns_, kept_;
  std::vector<float> values_;
};

TEST(RowRule, AgreesWithTheEvaluation) {
  Philox rng(5);
  int compared = 0;
  for (const OpDef* op : ops::all()) {
    if (!op->row) continue;
    for (const OpCase& one : cases_for(*op, rng)) {
      const bool reduces = std::string_view(op->name).starts_with("reduce_");
      if (one.operands[0]->dtype() != DType::f32 || !works_on_the_last_axis(one) ||
          (reduces && one.operands[0]->shape().size() > 1 && one.attributes.empty()) ||
          (reduces && one.operands.size() > 1))
        continue;
      SCOPED_TRACE(std::string(op->name) + " " + one.text());
      std::vector<Expr> arguments;
      std::vector<DType> dtypes(one.operands.size(), DType::f32);
      for (size_t i = 0; i < one.operands.size(); ++i) arguments.push_back(Expr::arg(static_cast<int>(i), Scalar::f32));
      const RowRule rule = op->row({arguments, one.attributes, dtypes});
      const std::vector<float> wanted = evaluate_node(*op, one.pointers(), one.attributes)[0].to_floats();
      const int64_t length = one.operands[0]->dim(-1), rows = one.operands[0]->elements() / length;
      const bool one_per_row = static_cast<int64_t>(wanted.size()) == rows && length != 1;
      RowRun run(rule, one);
      for (int64_t row = 0; row < rows; ++row) {
        const std::vector<float> found = run.row(row * length);
        // Values are below 100 in magnitude and rows shorter than 64: a few dozen roundings of 2^-24 each.
        for (int64_t i = 0; i < (one_per_row ? 1 : length); ++i) {
          const float expected = wanted[static_cast<size_t>(one_per_row ? row : row * length + i)];
          EXPECT_NEAR(found[static_cast<size_t>(i)], expected, 64 * 0x1p-24 * std::max(1.0f, std::abs(expected)));
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace hone
