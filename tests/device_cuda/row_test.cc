// Row kernels for CUDA against the same formulas in double, rows of a warp and of a block; what they read and write.
#include "kernels/row/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/float_bits.h"
#include "base/philox.h"
#include "ir/op_def.h"
#include "kernels/columns/plan.h"
#include "tests/device_cuda/run_plan.h"

namespace hone {
namespace {

using namespace test;

constexpr int kSum = static_cast<int>(Reduction::Kind::sum), kMax = static_cast<int>(Reduction::Kind::max);
constexpr int64_t kLengths[] = {1, 7, 64, 129, 1000, 1023, 1024, 2500};  // from 1024 on a block shares a row

Expr f32_arg(int position) { return Expr::arg(position, Scalar::f32); }

// One operand: args 0 x, 1 length, 2 max, 3 sum, 5 kept exp.
RowPlan softmax_plan(DType in, DType out) {
  RowPlan plan;
  plan.operands = {{in}};
  plan.reductions = {{kMax, flatten(f32_arg(0)), false}, {kSum, flatten(exp(f32_arg(0) - f32_arg(2))), true}};
  plan.program = flatten(f32_arg(5) / f32_arg(3));
  plan.results = {out};
  plan.lies = {RowPlan::Lies::rows};
  return plan;
}

// Operands x, scale, bias: args 0 1 2, 3 length, 4 sum, 5 sum of squares. Results: y, and the mean as one per row.
RowPlan layer_norm_plan() {
  RowPlan plan;
  plan.operands = {{DType::f32}, {DType::f32}, {DType::f32}};
  const Expr mean = f32_arg(4) / f32_arg(3), centered = f32_arg(0) - mean;
  plan.reductions = {{kSum, flatten(f32_arg(0)), false}, {kSum, flatten(centered * centered), false}};
  const Expr y = centered / sqrt(f32_arg(5) / f32_arg(3) + 1e-5f) * f32_arg(1) + f32_arg(2);
  const Expr results[] = {y, mean};
  plan.program = flatten(results);
  plan.results = {DType::f32, DType::f32};
  plan.lies = {RowPlan::Lies::rows, RowPlan::Lies::scalars};
  return plan;
}

DeviceVector<float> numbers(int64_t n, uint64_t seed) {
  Philox rng(seed);
  DeviceVector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = rng.normal();
  return values;
}

TEST(CudaRow, SoftmaxMatchesDouble) {
  constexpr int64_t kRows = 11;
  for (const CudaTarget& target : {CudaTarget(75), CudaTarget(80)}) {
    const CudaPlan kernel(softmax_plan(DType::f32, DType::f32), target);
    for (const int64_t length : kLengths) {
      DeviceVector<float> x = numbers(kRows * length, 1), y(x.size()), again(x.size());
      RowArgs args{.values = {x.data(), y.data()}, .rows = kRows, .length = length, .strides = {length, 0}};
      kernel.run(args, {reads(x), writes(y)});
      args.values[1] = again.data();
      kernel.run(args, {reads(x), writes(again)}, true);
      EXPECT_EQ(y, again) << "in another order of blocks";
      for (int64_t r = 0; r < kRows; ++r) {
        const float* row = x.data() + r * length;
        const double largest = *std::max_element(row, row + length);
        double total = 0;
        for (int64_t i = 0; i < length; ++i) total += std::exp(row[i] - largest);
        // Relative: exp 4 ulp of an argument rounded once (|x - max| < 16), a sum of length / 32 in each element of a
        // lane's vector, the division.
        const double bound = (4 + 16 + static_cast<double>(length) / 32 + 10) * 0x1p-24;
        for (int64_t i = 0; i < length; ++i) {
          const double exact = std::exp(row[i] - largest) / total;
          ASSERT_NEAR(y[static_cast<size_t>(r * length + i)], exact, exact * bound) << length << " " << r << " " << i;
        }
      }
    }
  }
}

TEST(CudaRow, HalfFloatsAreReadAndRounded) {
  constexpr int64_t kRows = 3, kLength = 72;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const bool is_bf16 = dtype == DType::bf16;
    const auto to_half = is_bf16 ? f32_to_bf16 : f32_to_f16;
    const auto to_float = is_bf16 ? bf16_to_f32 : f16_to_f32;
    const CudaPlan kernel(softmax_plan(dtype, dtype), CudaTarget(80));
    DeviceVector<float> values = numbers(kRows * kLength, 3);
    DeviceVector<uint16_t> x(values.size()), y(values.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = to_half(values[i]);
    const RowArgs args{.values = {x.data(), y.data()}, .rows = kRows, .length = kLength, .strides = {kLength, 0}};
    kernel.run(args, {reads(x), writes(y)});
    for (size_t r = 0; r < kRows; ++r) {
      double total = 0;
      for (size_t i = 0; i < kLength; ++i) total += std::exp(to_float(x[r * kLength + i]));
      for (size_t i = 0; i < kLength; ++i) {
        const double exact = std::exp(to_float(x[r * kLength + i])) / total;
        ASSERT_NEAR(to_float(y[r * kLength + i]), exact, exact * (is_bf16 ? 0x1p-8 : 0x1p-11) * 1.001);
      }
    }
  }
}

TEST(CudaRow, LayerNormWithSharedScaleBiasAndARowScalarResult) {
  RowPlan apart = layer_norm_plan();
  apart.lies = {RowPlan::Lies::rows_apart, RowPlan::Lies::scalars_apart};
  const CudaPlan kernel(layer_norm_plan(), CudaTarget(80)), apart_kernel(apart, CudaTarget(80));
  constexpr int64_t kRows = 3, kMeans = 2;
  for (const int64_t length : {7, 384, 1030}) {
    DeviceVector<float> x = numbers(kRows * length, 2), scale = numbers(length, 3), bias = numbers(length, 4);
    DeviceVector<float> y(x.size()), means(kRows);
    RowArgs args{.values = {x.data(), scale.data(), bias.data(), y.data(), means.data()},
                 .rows = kRows,
                 .length = length,
                 .strides = {length, 0, 0}};
    kernel.run(args, {reads(x), reads(scale), reads(bias), writes(y), writes(means)});
    for (int64_t r = 0; r < kRows; ++r) {
      const float* row = x.data() + r * length;
      const auto count = static_cast<double>(length);
      double mean = 0, variance = 0, magnitude = 0;
      for (int64_t i = 0; i < length; ++i) mean += row[i] / count, magnitude += std::abs(row[i]) / count;
      for (int64_t i = 0; i < length; ++i) variance += (row[i] - mean) * (row[i] - mean) / count;
      const double mean_error = (count / 32 + 10) * 0x1p-24 * magnitude;
      ASSERT_NEAR(means[static_cast<size_t>(r)], mean, mean_error);
      const double deviation = std::sqrt(variance + 1e-5);
      for (int64_t i = 0; i < length; ++i) {
        const auto at = static_cast<size_t>(i);
        const double centered = std::abs(row[i] - mean);
        const double exact = (row[i] - mean) / deviation * scale[at] + bias[at];
        const double relative = (count / 32 + 18) * 0x1p-24;
        const double bound = std::abs(scale[at]) * (2 * mean_error / deviation * (1 + centered / deviation) +
                                                    relative * centered / deviation) +
                             4 * 0x1p-24 * (std::abs(bias[at]) + std::abs(exact));
        ASSERT_NEAR(y[static_cast<size_t>(r * length + i)], exact, bound) << length;
      }
    }
    // Rows that lie apart have the same bits.
    const int64_t pitch = length + 5;
    DeviceVector<float> far_y(static_cast<size_t>(kRows * pitch), 9.0f), far_means(kRows * kMeans, 9.0f);
    args.values[3] = far_y.data(), args.values[4] = far_means.data();
    args.strides[apart.result_at(0)] = pitch, args.strides[apart.result_at(1)] = kMeans;
    apart_kernel.run(args, {reads(x), reads(scale), reads(bias), writes(far_y), writes(far_means)});
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t i = 0; i < pitch; ++i)
        ASSERT_EQ(far_y[static_cast<size_t>(r * pitch + i)], i < length ? y[static_cast<size_t>(r * length + i)] : 9);
      for (int64_t i = 0; i < kMeans; ++i)
        ASSERT_EQ(far_means[static_cast<size_t>(r * kMeans + i)], i == 0 ? means[static_cast<size_t>(r)] : 9);
    }
  }
}

// A [S, C] operand beside [B, S, C], a scalar of each row, integers: sums of small ones are exact.
TEST(CudaRow, OperandsRepeatAndIntegersAreExact) {
  RowPlan plan;
  plan.operands = {{DType::i32}, {DType::i32}, {DType::i32, true}};
  const Expr x = Expr::arg(0, Scalar::i32), y = Expr::arg(1, Scalar::i32), z = Expr::arg(2, Scalar::i32);
  plan.reductions = {{kSum, flatten(x * y + z), false}, {kMax, flatten(x - y), false}};
  const Expr results[] = {Expr::arg(4, Scalar::i32), Expr::arg(5, Scalar::i32)};
  plan.program = flatten(results);
  plan.results = {DType::i32, DType::i32};
  plan.lies = {RowPlan::Lies::scalars, RowPlan::Lies::scalars};
  const CudaPlan kernel(plan, CudaTarget(75));
  constexpr int64_t kRows = 6, kPeriod = 2;
  for (const int64_t length : {5, 100, 1100}) {
    Philox rng(7);
    DeviceVector<int32_t> a(static_cast<size_t>(kRows * length)), b(static_cast<size_t>(kPeriod * length)), c(kRows);
    for (auto* all : {&a, &b, &c})
      for (int32_t& v : *all) v = static_cast<int32_t>(rng.below(100)) - 50;
    DeviceVector<int32_t> sums(kRows), largest(kRows);
    const RowArgs args{.values = {a.data(), b.data(), c.data(), sums.data(), largest.data()},
                       .rows = kRows,
                       .length = length,
                       .strides = {length, length, 1, 0, kPeriod, 0}};
    kernel.run(args, {reads(a), reads(b), reads(c), writes(sums), writes(largest)});
    for (int64_t r = 0; r < kRows; ++r) {
      int32_t sum = 0, most = std::numeric_limits<int32_t>::min();
      for (int64_t i = 0; i < length; ++i) {
        const int32_t u = a[static_cast<size_t>(r * length + i)], v = b[static_cast<size_t>(r % kPeriod * length + i)];
        sum += u * v + c[static_cast<size_t>(r)], most = std::max(most, u - v);
      }
      EXPECT_EQ(sums[static_cast<size_t>(r)], sum);
      EXPECT_EQ(largest[static_cast<size_t>(r)], most);
    }
  }
}

TEST(CudaRow, ColumnsAreReducedInTheSamePass) {
  // y = x - mean of its row; columns of x and of y, as parts of the rows.
  RowPlan plan;
  plan.operands = {{DType::f32}};
  plan.reductions = {{kSum, flatten(f32_arg(0)), false}};
  const Expr y = f32_arg(0) - f32_arg(2) / f32_arg(1);
  const Expr results[] = {y, f32_arg(0), y};
  plan.program = flatten(results);
  plan.results = {DType::f32};
  plan.lies = {RowPlan::Lies::rows};
  plan.sums = {kSum, kMax};
  const CudaPlan kernel(plan, CudaTarget(80));
  constexpr int64_t kRows = 300, kLength = 130;
  const int64_t each = rows_of_part(kRows, kLength), parts = (kRows + each - 1) / each;
  ASSERT_GT(parts, 1);
  DeviceVector<float> x = numbers(kRows * kLength, 5), out(x.size()), sums(static_cast<size_t>(parts * 2 * kLength));
  const RowArgs args{
      .values = {x.data(), out.data(), sums.data()}, .rows = kRows, .length = kLength, .strides = {kLength}};
  kernel.run(args, {reads(x), writes(out), writes(sums)});
  for (int64_t part = 0; part < parts; ++part)
    for (int64_t i = 0; i < kLength; ++i) {
      float sum = 0, most = -INFINITY;  // in the order of rows
      for (int64_t r = part * each; r < std::min(kRows, (part + 1) * each); ++r)
        sum += x[static_cast<size_t>(r * kLength + i)],
            most = std::max(most, out[static_cast<size_t>(r * kLength + i)]);
      EXPECT_EQ(sums[static_cast<size_t>((part * 2) * kLength + i)], sum);
      EXPECT_EQ(sums[static_cast<size_t>((part * 2 + 1) * kLength + i)], most);
    }
}

TEST(CudaRow, EverySectorIsWhole) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t length : {512, 4096}) {
      const CudaPlan kernel(softmax_plan(dtype, dtype), CudaTarget(80));
      constexpr int64_t kRows = 8;
      DeviceVector<std::byte> x(static_cast<size_t>(kRows * length * size_bytes(dtype))), y(x.size());
      const RowArgs args{.values = {x.data(), y.data()}, .rows = kRows, .length = length, .strides = {length, 0}};
      const ptx::Counts counts = kernel.run(args, {reads(x), writes(y)});
      EXPECT_LE(kernel.sectors_over_least(counts), 1.02) << to_string(dtype) << " " << length;
      if (length > 1024) {
        EXPECT_EQ(kernel.bank_cycles_over_least(counts), 1.0);
      }
    }
}

}  // namespace
}  // namespace hone
