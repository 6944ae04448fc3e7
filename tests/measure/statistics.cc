#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

TEST(Statistics, QuantilesAreLinearBetweenNeighbours) {
  const std::vector<double> samples{40, 10, 30, 20};
  EXPECT_EQ(quantile(samples, 0), 10);
  EXPECT_EQ(median(samples), 25);
  EXPECT_EQ(quantile(samples, 0.9), 37);
  EXPECT_EQ(quantile(samples, 1), 40);
  EXPECT_THROW(median({}), Bug);
}

TEST(Statistics, OneOutlierDoesNotMoveTheMedianDeviation) {
  EXPECT_EQ(median_absolute_deviation(std::vector<double>{1, 2, 3, 4, 1000}), 1);
}

TEST(Statistics, FiveSamplesGiveNoIntervalAndSixGiveTheirRange) {
  EXPECT_TRUE(std::isinf(median_interval(std::vector<double>{1, 2, 3, 4, 5}).high));
  const Interval six = median_interval(std::vector<double>{3, 1, 2, 6, 5, 4});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
}

// Of Binomial(100, 1/2): P(X < 40) = 0.0176 <= 0.025 < P(X < 41) = 0.0284, so k = 40.
TEST(Statistics, AHundredSamplesGiveTheFortiethFromEachEnd) {
  std::vector<double> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(i);
  EXPECT_EQ(median_interval(samples).low, 40);
  EXPECT_EQ(median_interval(samples).high, 61);
}

TEST(Statistics, TheIntervalCoversTheTrueMedianNineteenTimesOfTwenty) {
  Philox rng(7);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 41; ++i) samples.push_back(std::exp(rng.normal()));  // skewed; its median is 1
    covered += median_interval(samples).contains(1);
  }
  EXPECT_GE(covered, 1880);  // 1900 less four standard deviations (9.7 each), rounded up
  EXPECT_LE(covered, 1980);  // the exact level at n = 41 is 0.9723
}

// An autoregressive series with coefficient 0.7: independent samples would be 1.7 / 0.3 = 5.7 times fewer. The plain
// interval covers the median far too rarely.
TEST(Statistics, TheIntervalOfASeriesAllowsForNeighboursThatAreAlike) {
  Philox rng(11);
  int covered = 0, covered_as_if_independent = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> series;
    double x = rng.normal() / std::sqrt(1 - 0.49);
    for (int i = 0; i < 200; ++i) series.push_back(x = 0.7 * x + rng.normal());
    covered += median_interval_of_series(series).contains(0);
    covered_as_if_independent += median_interval(series).contains(0);
  }
  EXPECT_GE(covered, 1760);  // the weights fall, so some of the correlation is missed: 88 % instead of 95
  EXPECT_LE(covered_as_if_independent, 1500);
}

TEST(Statistics, TheIntervalOfIndependentSamplesIsLittleWiderThanThePlainOne) {
  Philox rng(12);
  double ratio = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 100; ++i) samples.push_back(rng.normal());
    const Interval series = median_interval_of_series(samples), plain = median_interval(samples);
    EXPECT_LE(series.low, plain.low);
    EXPECT_GE(series.high, plain.high);
    ratio += (series.high - series.low) / (plain.high - plain.low) / 500;
  }
  EXPECT_LT(ratio, 1.25);
}

// The classical table: t(0.975) is 2.776 with 4 degrees of freedom, 2.262 with 9.
TEST(Statistics, TheIntervalOfAMeanIsStudents) {
  const std::vector<double> five{1, 2, 3, 4, 5};  // mean 3, standard error sqrt(2.5 / 5)
  EXPECT_NEAR(mean_interval(five).high, 3 + 2.776 * std::sqrt(0.5), 1e-6);
  std::vector<double> ten;
  for (int i = 0; i < 10; ++i) ten.push_back(i % 2 ? 1 : -1);  // mean 0, standard error sqrt(10 / 90)
  EXPECT_NEAR(mean_interval(ten).low, -2.262 / 3, 1e-3);
  EXPECT_TRUE(std::isinf(mean_interval(std::vector<double>{1}).high));
}

// Wilson (1927): 8 of 10 give 0.490 to 0.943; all of 10 give 0.722 to 1.
TEST(Statistics, TheIntervalOfAShareIsWilsons) {
  EXPECT_NEAR(share_interval(0.8, 10).low, 0.4902, 1e-4);
  EXPECT_NEAR(share_interval(0.8, 10).high, 0.9433, 1e-4);
  EXPECT_NEAR(share_interval(1, 10).low, 0.7225, 1e-4);
  EXPECT_EQ(share_interval(1, 10).high, 1);
  EXPECT_EQ(share_interval(0, 10).low, 0);
}

}  // namespace
}  // namespace hone
