// Reductions of columns for CUDA: whole matrices, parts and their join, operands of every access.
#include "kernels/columns/plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;
using Task = ColumnsPlan::Task;
using Access = Epilogue::Access;

constexpr int kSum = static_cast<int>(Reduction::Kind::sum), kMax = static_cast<int>(Reduction::Kind::max);

Expr f32_arg(int position) { return Expr::arg(position, Scalar::f32); }

DeviceVector<float> numbers(int64_t n, uint64_t seed) {
  Philox rng(seed);
  DeviceVector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = rng.normal();
  return values;
}

// Mean of x * c + r over the rows of each matrix, and the largest; x full, c of columns, r of rows.
ColumnsPlan mean_plan() {
  ColumnsPlan plan;
  plan.operands = {{DType::f32, Access::full}, {DType::f32, Access::column}, {DType::f32, Access::row}};
  const Expr element = f32_arg(0) * f32_arg(1) + f32_arg(2);
  plan.reductions = {{kSum, flatten(element)}, {kMax, flatten(element)}};
  const Expr results[] = {f32_arg(1) / f32_arg(0), f32_arg(2)};
  plan.program = flatten(results);
  plan.results = {DType::f32, DType::f32};
  return plan;
}

void expect_reduced(const DeviceVector<float>& x, const DeviceVector<float>& c, const DeviceVector<float>& r,
                    int64_t matrices, int64_t rows, int64_t columns, const DeviceVector<float>& mean,
                    const DeviceVector<float>& most) {
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0, magnitude = 0;
      float largest = -INFINITY;
      for (int64_t i = 0; i < rows; ++i) {
        const float value = x[static_cast<size_t>((m * rows + i) * columns + j)] * c[static_cast<size_t>(j)] +
                            r[static_cast<size_t>(m * rows + i)];
        sum += value, magnitude += std::abs(value), largest = std::max(largest, value);
      }
      const auto at = static_cast<size_t>(m * columns + j);
      ASSERT_NEAR(mean[at], sum / static_cast<double>(rows),
                  (static_cast<double>(rows) / 8 + 10) * 0x1p-24 * magnitude / static_cast<double>(rows) + 1e-30);
      ASSERT_EQ(most[at], largest);
    }
}

TEST(CudaColumns, WholeMatrices) {
  for (const CudaTarget& target : {CudaTarget(75), CudaTarget(80)}) {
    const CudaPlan kernel(mean_plan(), target);
    for (const auto& [matrices, rows, columns] : {std::array<int64_t, 3>{1, 1, 1}, {2, 49, 130}, {3, 100, 128}}) {
      DeviceVector<float> x = numbers(matrices * rows * columns, 1), c = numbers(columns, 2),
                          r = numbers(matrices * rows, 3);
      DeviceVector<float> mean(static_cast<size_t>(matrices * columns)), most(mean.size()), again(mean.size());
      ColumnsArgs args{.values = {x.data(), c.data(), r.data(), mean.data(), most.data()},
                       .rows = rows,
                       .columns = columns,
                       .matrices = matrices,
                       .operands = {columns, 0, 1}};
      const ptx::Counts counts = kernel.run(args, {reads(x), reads(c), reads(r), writes(mean), writes(most)});
      expect_reduced(x, c, r, matrices, rows, columns, mean, most);
      EXPECT_EQ(kernel.bank_cycles_over_least(counts), 1.0);
      args.values[3] = again.data();
      kernel.run(args, {reads(x), reads(c), reads(r), writes(again), writes(most)}, true);
      EXPECT_EQ(mean, again) << "in another order of blocks";
    }
  }
}

TEST(CudaColumns, PartsAreJoinedToTheSame) {
  constexpr int64_t kRows = 700, kColumns = 200;
  ColumnsPlan part = mean_plan(), join = part;
  part.task = Task::part, part.program = {}, part.results.clear();
  join.task = Task::join, join.operands.clear();
  for (ColumnsPlan::Step& step : join.reductions) step.element = flatten(f32_arg(0));
  const int64_t parts = (kRows + rows_of_part(kRows, kColumns) - 1) / rows_of_part(kRows, kColumns);
  ASSERT_GT(parts, 1);
  DeviceVector<float> x = numbers(kRows * kColumns, 1), c = numbers(kColumns, 2), r = numbers(kRows, 3);
  DeviceVector<float> passed(static_cast<size_t>(parts * 2 * kColumns)), mean(kColumns), most(kColumns);
  const CudaTarget target(80);
  ColumnsArgs args{.values = {x.data(), c.data(), r.data(), passed.data()},
                   .rows = kRows,
                   .columns = kColumns,
                   .matrices = 1,
                   .operands = {kColumns, 0, 1}};
  CudaPlan(part, target).run(args, {reads(x), reads(c), reads(r), writes(passed)});
  args.values = {passed.data(), mean.data(), most.data()};
  CudaPlan(join, target).run(args, {reads(passed), writes(mean), writes(most)});
  expect_reduced(x, c, r, 1, kRows, kColumns, mean, most);
}

TEST(CudaColumns, EverySectorIsWhole) {
  ColumnsPlan plan;
  plan.operands = {{DType::f32, Access::full}};
  plan.reductions = {{kSum, flatten(f32_arg(0))}};
  plan.program = flatten(f32_arg(1));
  plan.results = {DType::f32};
  const CudaPlan kernel(plan, CudaTarget(80));
  constexpr int64_t kRows = 128, kColumns = 256;
  DeviceVector<float> x = numbers(kRows * kColumns, 1), y(kColumns);
  const ColumnsArgs args{
      .values = {x.data(), y.data()}, .rows = kRows, .columns = kColumns, .matrices = 1, .operands = {kColumns}};
  EXPECT_LE(kernel.sectors_over_least(kernel.run(args, {reads(x), writes(y)})), 1.02);
}

}  // namespace
}  // namespace hone
