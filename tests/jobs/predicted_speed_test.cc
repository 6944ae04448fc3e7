// The time that doctor predicts: a range that follows from the steps and the machine's peaks.
#include "jobs/predicted_speed.h"

#include <gtest/gtest.h>

#include "device/x86/device.h"
#include "passes/pipelines.h"
#include "runtime/cut_graph.h"
#include "tests/runtime/encoder.h"

namespace hone::test {
namespace {

const MachinePeaks kPeaks{.f32_gflops = 100, .bf16_gflops = 200, .reads = {{16 << 10, 200}, {64 << 20, 25}}};

PredictedSpeed predicted(const char* text, const MachinePeaks& peaks, Compute compute = Compute::f32,
                         const char* rates = "zen4") {
  const Graph graph = specialised_parts(prepare_for_codegen(parse_seeded(text), compute), {}).head;
  const X86Target target(Features().with(Feature::avx512_bf16), microarchitecture(rates));
  const LowerOptions options{.device = x86_device(target)};
  return predict_speed(graph, lower(graph, options), options, peaks);
}

constexpr const char* kProduct = R"(graph g {
  %x : f32[512,512] = input "x"
  %w : f32[512,512] = const "w"
  %y = linear %x, %w
  return %y as "y"
})";

TEST(PredictedSpeed, AProductTakesAtLeastItsArithmeticAtThePeak) {
  const PredictedSpeed speed = predicted(kProduct, kPeaks);
  const double at_peak = 2.0 * 512 * 512 * 512 / 100e9 * 1e3;
  EXPECT_GE(speed.low_ms, at_peak);
  EXPECT_LT(speed.low_ms, 1.1 * at_peak);
  EXPECT_GT(speed.high_ms, speed.low_ms);
  EXPECT_LT(speed.high_ms, 3 * at_peak);
}

TEST(PredictedSpeed, AFasterMachineIsPredictedFaster) {
  MachinePeaks twice = kPeaks;
  twice.f32_gflops *= 2;
  for (MachinePeaks::Read& read : twice.reads) read.gbytes *= 2;
  EXPECT_LT(predicted(kProduct, twice).low_ms, 0.55 * predicted(kProduct, kPeaks).low_ms);
  EXPECT_LT(predicted(kProduct, twice).high_ms, 0.55 * predicted(kProduct, kPeaks).high_ms);
}

TEST(PredictedSpeed, ProductsOfBf16AreHeldAgainstTheUnitThatMultipliesThem) {
  const double f32 = predicted(kProduct, kPeaks).low_ms;
  EXPECT_LT(predicted(kProduct, kPeaks, Compute::bf16).low_ms, 0.6 * f32);
  EXPECT_GT(predicted(kProduct, kPeaks, Compute::bf16, "sapphire_rapids").low_ms, 0.9 * f32);
}

TEST(PredictedSpeed, WhatIsInterpretedIsPredictedSlow) {
  const char* interpreted = R"(graph g {
    %x : f32[1,512,512] = input "x"
    %y = lp_pool %x {kernel_shape=[1]}
    return %y as "y"
  })";
  const char* compiled = R"(graph g {
    %x : f32[1,512,512] = input "x"
    %y = relu %x
    return %y as "y"
  })";
  EXPECT_GT(predicted(interpreted, kPeaks).low_ms, 5 * predicted(compiled, kPeaks).low_ms);
}

}  // namespace
}  // namespace hone::test
