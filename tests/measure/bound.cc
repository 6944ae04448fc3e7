#include "measure/bound.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// 100 GFLOP/s, bf16 200, int8 400; 100 GB/s up to 10 MB, beyond that 10.
const MachinePeaks kPeaks{.f32_gflops = 100, .bf16_gflops = 200, .int8_gops = 400, .reads = {{1000, 100}, {10'000'000, 10}}};

StepProfile gemm(double flops, double bytes, double weight_bytes) {
  return {.name = "h", .kind = "gemm", .ops = "linear", .flops = flops, .bytes = bytes, .weight_bytes = weight_bytes};
}

TEST(Bound, IsThePeakThatAllowsLess) {
  const Bound compute = bound_of(gemm(1e9, 1e6, 0), 20, kPeaks, {});
  EXPECT_EQ(compute.by, Bound::By::compute);
  EXPECT_DOUBLE_EQ(compute.compute_ms, 10);  // 1 GFLOP at 100 GFLOP/s
  EXPECT_DOUBLE_EQ(compute.memory_ms, 0.01);
  EXPECT_DOUBLE_EQ(compute.share, 0.5);
  EXPECT_EQ(bound_of(gemm(1e6, 1e9, 0), 200, kPeaks, {}).by, Bound::By::memory);
}

// 9 MB of weights of a model of 40 MB come from memory, the 1 MB of activations from a cache.
TEST(Bound, WeightsAreReadAtTheRateOfAllWeights) {
  const Bound bound = bound_of(gemm(1e6, 10e6, 9e6), 1, kPeaks, {.model_bytes = 40e6});
  EXPECT_DOUBLE_EQ(bound.memory_ms, 0.9 + 0.01);
  EXPECT_DOUBLE_EQ(bound_of(gemm(1e6, 10e6, 9e6), 1, kPeaks, {.model_bytes = 9e6}).memory_ms, 0.09 + 0.01);
}

TEST(Bound, ProductsOfBf16HaveTheirOwnPeakAndOtherStepsDoNot) {
  StepProfile step = gemm(1e9, 1e3, 0);
  EXPECT_DOUBLE_EQ(bound_of(step, 20, kPeaks, {}).compute_ms, 10);
  step.unit = ProductUnit::bf16;
  EXPECT_DOUBLE_EQ(bound_of(step, 20, kPeaks, {}).compute_ms, 5);
}

TEST(Bound, AStepOfMicrosecondsFarFromItsPeaksIsOverhead) {
  EXPECT_EQ(bound_of(gemm(1e4, 1e3, 0), 0.003, kPeaks, {}).by, Bound::By::overhead);
  EXPECT_EQ(bound_of(gemm(2e5, 1e3, 0), 0.003, kPeaks, {}).by, Bound::By::compute);  // 2 of 3 microseconds
  EXPECT_EQ(bound_of(gemm(1e4, 1e3, 0), 0.006, kPeaks, {}).by, Bound::By::compute);
}

TEST(Bound, WithoutPeaksNothingIsSaid) {
  const Bound bound = bound_of(gemm(1e9, 1e9, 0), 1, {}, {});
  EXPECT_EQ(bound.by, Bound::By::unknown);
  EXPECT_EQ(bound.share, 0);
}

std::string why(const StepProfile& step, double milliseconds, const StepSetting& setting = {}) {
  return why_not_faster(step, milliseconds, bound_of(step, milliseconds, kPeaks, setting));
}

TEST(WhyNotFaster, FollowsTheNumbers) {
  EXPECT_EQ(why(gemm(1e9, 1e3, 0), 10.5), "Compute-bound, at 95 % of the f32 peak.");
  StepProfile bf16 = gemm(1e9, 1e3, 0);
  bf16.unit = ProductUnit::bf16;
  EXPECT_EQ(why(bf16, 5.5), "Compute-bound, at 91 % of the bf16 peak.");
  StepProfile int8 = gemm(1e9, 1e3, 0);
  int8.unit = ProductUnit::int8;
  EXPECT_EQ(why(int8, 5), "1 GOP: the int8 peak allows 2.5 ms, it takes 5 ms (50 %).");
  EXPECT_EQ(why(gemm(1e9, 1e3, 0), 16), "1 GFLOP: the f32 peak allows 10 ms, it takes 16 ms (62 %).");
  EXPECT_EQ(why(gemm(1e9, 1e6, 0), 40),
            "1 GFLOP: the f32 peak allows 10 ms, it takes 40 ms (25 %); nor does memory, at 10 µs, explain it.");
  EXPECT_EQ(why(gemm(1e9, 1e3, 0), 5),
            "At 200 % of the f32 peak: fewer operations than the 1 GFLOP of the plain method.");
  EXPECT_EQ(why(gemm(1e6, 9.4e6, 9.4e6), 1.13, {.model_bytes = 90e6}),
            "Reads 9.40 MB of weights once: memory allows 0.94 ms, it takes 1.13 ms (83 %).");
  EXPECT_EQ(why(gemm(1e6, 1e7, 0), 1.25), "Moves 10.0 MB: memory allows 1 ms, it takes 1.25 ms (80 %).");
  EXPECT_EQ(why(gemm(1e4, 1e3, 0), 0.003), "Too small: 3 µs to dispatch what the peaks allow in 0.1 µs.");
}

TEST(WhyNotFaster, InterpretedStepsGiveTheReason) {
  StepProfile step = gemm(1e9, 1e3, 0);
  step.kind = "interpreted", step.why_interpreted = "no code generation for argmax";
  EXPECT_EQ(why(step, 10), "Interpreted, without machine code: no code generation for argmax.");
}

}  // namespace
}  // namespace hone
