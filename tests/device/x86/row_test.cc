// Row kernels against the same formulas in double.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/float_bits.h"
#include "ir/op_def.h"
#include "kernels/row/plan.h"
#include "tests/device/x86/kernel_runner.h"

namespace hone {
namespace {

using namespace test;

constexpr int kSum = static_cast<int>(Reduction::Kind::sum), kMax = static_cast<int>(Reduction::Kind::max),
              kMin = static_cast<int>(Reduction::Kind::min);
constexpr int64_t kLengths[] = {1, 7, 15, 16, 17, 31, 33, 63, 64, 65, 129, 384, 1000};

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

std::vector<float> numbers(int64_t n, uint64_t seed) {
  Philox rng(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = rng.normal();
  return values;
}

TEST(Row, ResultsLieAsFarApartAsTheirStrides) {
  RowPlan apart = layer_norm_plan();
  apart.lies = {RowPlan::Lies::rows_apart, RowPlan::Lies::scalars_apart};
  for (const X86Target& target : target_levels()) {
    CompiledPlan dense_kernel(layer_norm_plan(), target), kernel(apart, target);
    for (int64_t length : kLengths) {
      constexpr int64_t kRows = 5, kMeans = 3;
      const int64_t pitch = length + 7;
      std::vector<float> x = numbers(kRows * length, 1), scale = numbers(length, 2), bias = numbers(length, 3);
      std::vector<float> y(x.size()), mean(kRows), far_y(static_cast<size_t>(kRows * pitch), 9),
          far_mean(static_cast<size_t>(kRows * kMeans), 9);
      RowArgs args{.values = {x.data(), scale.data(), bias.data(), y.data(), mean.data()},
                   .rows = kRows,
                   .length = length,
                   .strides = {length}};
      dense_kernel.run(args);
      args.values[3] = far_y.data(), args.values[4] = far_mean.data();
      args.strides[apart.result_at(0)] = pitch;
      args.strides[apart.result_at(1)] = kMeans;
      kernel.run(args);
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t i = 0; i < pitch; ++i)
          ASSERT_EQ(far_y[static_cast<size_t>(r * pitch + i)], i < length ? y[static_cast<size_t>(r * length + i)] : 9)
              << to_string(target) << " " << length;
        for (int64_t i = 0; i < kMeans; ++i)
          ASSERT_EQ(far_mean[static_cast<size_t>(r * kMeans + i)], i == 0 ? mean[static_cast<size_t>(r)] : 9);
      }
    }
  }
}

TEST(Row, SoftmaxSumsToOneAndMatchesDouble) {
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(softmax_plan(DType::f32, DType::f32), target);
    for (int64_t length : kLengths) {
      std::vector<float> x = numbers(5 * length, 1);
      Guarded y(x.size() * 4);
      const RowArgs args{.values = {x.data(), y.data()}, .rows = 5, .length = length, .strides = {length, 0}};
      kernel.run(args);
      for (int64_t r = 0; r < 5; ++r) {
        const float* row = x.data() + r * length;
        const double largest = *std::max_element(row, row + length);
        double total = 0;
        for (int64_t i = 0; i < length; ++i) total += std::exp(row[i] - largest);
        // Relative: exp 4 ulp of an argument rounded once (|x - max| < 16), the sum's length / 8 chains, the division.
        const double bound = (4 + 16 + static_cast<double>(length) / 8 + 2) * 0x1p-24;
        for (int64_t i = 0; i < length; ++i) {
          const double exact = std::exp(row[i] - largest) / total;
          ASSERT_NEAR(y.as<float>()[static_cast<size_t>(r * length + i)], exact, exact * bound)
              << length << " " << to_string(target);
        }
      }
      EXPECT_TRUE(y.intact());
    }
  }
}

TEST(Row, LayerNormWithSharedScaleBiasAndARowScalarResult) {
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(layer_norm_plan(), target);
    for (int64_t length : kLengths) {
      std::vector<float> x = numbers(3 * length, 2), scale = numbers(length, 3), bias = numbers(length, 4);
      Guarded y(x.size() * 4), means(3 * 4);
      const RowArgs args{.values = {x.data(), scale.data(), bias.data(), y.data(), means.data()},
                         .rows = 3,
                         .length = length,
                         .strides = {length, 0, 0}};
      kernel.run(args, 2);
      for (int64_t r = 0; r < 3; ++r) {
        const float* row = x.data() + r * length;
        double mean = 0, variance = 0, magnitude = 0;
        for (int64_t i = 0; i < length; ++i)
          mean += row[i] / static_cast<double>(length), magnitude += std::abs(row[i]) / static_cast<double>(length);
        for (int64_t i = 0; i < length; ++i)
          variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(length);
        // The mean is off by at most length/8 + 8 roundings of the sum of magnitudes; everything else follows it.
        const double mean_error = (static_cast<double>(length) / 8 + 8) * 0x1p-24 * magnitude;
        ASSERT_NEAR(means.as<float>()[static_cast<size_t>(r)], mean, mean_error);
        const double deviation = std::sqrt(variance + 1e-5);
        for (int64_t i = 0; i < length; ++i) {
          const auto at = static_cast<size_t>(i);
          const double exact = (row[i] - mean) / deviation * scale[at] + bias[at];
          const double relative = (static_cast<double>(length) / 8 + 16) * 0x1p-24;
          const double bound =
              std::abs(scale[at]) * (2 * mean_error / deviation * (1 + std::abs(row[i] - mean) / deviation) +
                                     relative * std::abs(row[i] - mean) / deviation) +
              4 * 0x1p-24 * (std::abs(bias[at]) + std::abs(exact));
          ASSERT_NEAR(y.as<float>()[static_cast<size_t>(r * length + i)], exact, bound)
              << length << " " << to_string(target);
        }
      }
      EXPECT_TRUE(y.intact() && means.intact());
    }
  }
}

TEST(Row, SmallIntegersAreExactAndPiecesDoNotMatter) {
  // Sum, max and min of integers 0..6; NaN and infinities pass through.
  RowPlan plan;
  plan.operands = {{DType::bf16}};
  plan.reductions = {
      {kSum, flatten(f32_arg(0)), false}, {kMax, flatten(f32_arg(0)), false}, {kMin, flatten(f32_arg(0)), false}};
  const Expr results[] = {f32_arg(2), f32_arg(3), f32_arg(4)};
  plan.program = flatten(results);
  plan.results = {DType::f32, DType::f32, DType::f32};
  plan.lies = {RowPlan::Lies::scalars, RowPlan::Lies::scalars, RowPlan::Lies::scalars};
  constexpr int64_t kRows = 9, kLength = 77;
  std::vector<uint16_t> x(kRows * kLength);
  for (size_t i = 0; i < x.size(); ++i) x[i] = f32_to_bf16(static_cast<float>(i * i % 7));
  x[kLength * 4 + 70] = 0x7fc0;  // NaN in row 4, in the masked tail
  x[kLength * 5 + 3] = 0xff80;   // -infinity in row 5
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(plan, target);
    for (int64_t chunk : {0, 1, 4}) {
      Guarded sums(kRows * 4), largest(kRows * 4), least(kRows * 4);
      const RowArgs args{.values = {x.data(), sums.data(), largest.data(), least.data()},
                         .rows = kRows,
                         .length = kLength,
                         .strides = {kLength, 0}};
      kernel.run(args, chunk);
      for (int64_t r = 0; r < kRows; ++r) {
        const auto at = static_cast<size_t>(r);
        if (r == 4) {
          EXPECT_TRUE(std::isnan(sums.as<float>()[at]) && std::isnan(largest.as<float>()[at]) &&
                      std::isnan(least.as<float>()[at]));
          continue;
        }
        float sum = 0, high = -INFINITY, low = INFINITY;
        for (int64_t i = 0; i < kLength; ++i) {
          const float v = bf16_to_f32(x[static_cast<size_t>(r * kLength + i)]);
          sum += v, high = std::max(high, v), low = std::min(low, v);
        }
        EXPECT_EQ(sums.as<float>()[at], sum);
        EXPECT_EQ(largest.as<float>()[at], high);
        EXPECT_EQ(least.as<float>()[at], low);
      }
      EXPECT_TRUE(sums.intact() && largest.intact() && least.intact());
    }
  }
}

TEST(Row, PeriodsRepeatAnOperandAndRowScalarsHoldForTheWholeRow) {
  // y = x + p[row % 3] * s[row]
  RowPlan plan;
  plan.operands = {{DType::f32}, {DType::f32}, {DType::f32, true}};
  plan.program = flatten(f32_arg(0) + f32_arg(1) * f32_arg(2));
  plan.results = {DType::f32};
  plan.lies = {RowPlan::Lies::rows};
  constexpr int64_t kRows = 8, kLength = 21;
  std::vector<float> x = numbers(kRows * kLength, 5), p = numbers(3 * kLength, 6), s = numbers(kRows, 7);
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(plan, target);
    for (int64_t chunk : {0, 1, 5}) {
      Guarded y(x.size() * 4);
      const RowArgs args{.values = {x.data(), p.data(), s.data(), y.data()},
                         .rows = kRows,
                         .length = kLength,
                         .strides = {kLength, kLength, 1, 0, 3, 0}};
      kernel.run(args, chunk);
      for (int64_t r = 0; r < kRows; ++r)
        for (int64_t i = 0; i < kLength; ++i) {
          const auto at = static_cast<size_t>(r * kLength + i);
          const float expected = x[at] + p[static_cast<size_t>(r % 3 * kLength + i)] * s[static_cast<size_t>(r)];
          ASSERT_EQ(y.as<float>()[at], expected) << r << " " << i;
        }
    }
  }
}

TEST(Row, TheIndexCountsThroughAllRows) {
  RowPlan plan = softmax_plan(DType::f32, DType::f32);
  plan.program = flatten(cast(Scalar::f32, Expr::index()));
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(plan, target);
    std::vector<float> x = numbers(3 * 37, 1);
    Guarded y(x.size() * 4);
    const RowArgs args{.values = {x.data(), y.data()}, .rows = 3, .length = 37, .strides = {37, 0}};
    kernel.run(args, 2);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y.as<float>()[i], static_cast<float>(i));
    EXPECT_TRUE(y.intact());
  }
}

}  // namespace
}  // namespace hone
