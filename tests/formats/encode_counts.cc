// What encoding could not represent is counted, not hidden.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/packed.h"

namespace hone {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

EncodeCounts counts_of(const char* format, const std::vector<float>& x) {
  EncodeCounts counts{.nan = 99};  // pack() sets all of them
  const std::vector<int64_t> shape{static_cast<int64_t>(x.size())};
  pack(parse_format(format), shape, x, &counts);
  return counts;
}

TEST(EncodeCounts, FixedPointCountsWhatLiesBeyondItsRange) {
  // int8.f4 covers -8 .. 7.9375 in steps of 1/16; half a step beyond the ends still rounds to them.
  const EncodeCounts counts =
      counts_of("int8.f4", {7.96f, 8, 100, -8, -8.1f, 0.03f, 0.04f, -0.01f, 0, kNan, kInf, -kInf});
  EXPECT_EQ(counts.saturated, 3);        // 8, 100, -8.1
  EXPECT_EQ(counts.flushed_to_zero, 2);  // 0.03 and -0.01 are below half a step
  EXPECT_EQ(counts.nan, 1);
  EXPECT_EQ(counts.inf, 2);
}

TEST(EncodeCounts, UnsignedCountsNegativesAsSaturated) {
  const EncodeCounts counts = counts_of("uint8.f0", {-3, -0.4f, 0.2f, 255, 300});
  EXPECT_EQ(counts.saturated, 2);
  EXPECT_EQ(counts.flushed_to_zero, 2);
}

TEST(EncodeCounts, TheFloorRuleSaturatesAGroupMaximumAboveTheLargestElement) {
  // The scale of {7, 1} is 1 in mxfp4, whose largest element is 6 and whose next would be 8.
  EXPECT_EQ(counts_of("mxfp4", {7.9f, 1, -6.5f, 0.1f}).saturated, 1);
  EXPECT_EQ(counts_of("mxfp4.rule=rceil", {7.9f, 1, -6.5f, 0.1f}).saturated, 0);
  EXPECT_EQ(counts_of("mxfp4", {7.9f, 1, -6.5f, 0.1f}).flushed_to_zero, 1);
}

TEST(EncodeCounts, AnF32ScaleMapsTheLargestMagnitudeOntoTheLargestCode) {
  const EncodeCounts counts = counts_of("int8", {-3, 1, 2.9f, 0.001f});
  EXPECT_EQ(counts.saturated, 0);
  EXPECT_EQ(counts.flushed_to_zero, 1);
}

TEST(EncodeCounts, ElementsOfAGroupThatBecomesNanAreNotCountedTwice) {
  const EncodeCounts counts = counts_of("mxint8.g4", {kNan, kInf, 1, 1e-9f, 1, 1, 1, 1});
  EXPECT_EQ(counts.nan, 1);
  EXPECT_EQ(counts.inf, 1);
  EXPECT_EQ(counts.saturated, 0);
  EXPECT_EQ(counts.flushed_to_zero, 0);
}

TEST(EncodeCounts, OverflowToInfinityOfAHalfIsSaturation) {
  EXPECT_EQ(counts_of("fp16", {65504, 65519, 65520, 1e30f, 1e-9f}).saturated, 2);
  EXPECT_EQ(counts_of("fp16", {65504, 65519, 65520, 1e30f, 1e-9f}).flushed_to_zero, 1);
}

TEST(EncodeCounts, AsymmetricZeroIsExactAndNotALoss) {
  // Codes 0..255 over -1..3: step 1/64 nearly, zero point 64.
  EXPECT_EQ(counts_of("uint8.asym", {-1, 0, 3, 0.001f}).flushed_to_zero, 1);
  EXPECT_EQ(counts_of("uint8.asym", {-1, 0, 3, 0.001f}).saturated, 0);
}

}  // namespace
}  // namespace hone
