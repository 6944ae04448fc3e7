#include "measure/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "tests/measure/answers.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

Estimate estimate_of(const std::string& metric, const Answers& answers) {
  return estimate(parse_metric(metric), evidence_of(metric, answers));
}

// Two classes, each row right with probability `p`.
GivenAnswers drawn(int64_t n, double p, uint64_t seed) {
  Philox rng(seed);
  std::vector<int64_t> right, given;
  for (int64_t i = 0; i < n; ++i) {
    right.push_back(static_cast<int64_t>(rng.below(2)));
    given.push_back(rng.uniform() < p ? right.back() : 1 - right.back());
  }
  return classified(2, given, right);
}

TEST(Estimate, AShareHasWilsonsInterval) {
  std::vector<int64_t> right(20, 0), given(20, 0);
  given[0] = given[1] = 1;  // 18 of 20
  const Estimate e = estimate_of("accuracy", classified(2, given, right));
  const Interval wilson = share_interval(0.9, 20);
  EXPECT_EQ(e.value, 0.9);
  EXPECT_EQ(e.ci95->low, wilson.low);
  EXPECT_EQ(e.ci95->high, wilson.high);
}

// Texts whose tokens are all right or all wrong: 4,000 tokens are worth 40 samples.
TEST(Estimate, TokensOfOneSampleAreNotIndependent) {
  std::vector<int64_t> right(4000, 0), given(4000, 0);
  for (size_t i = 0; i < 2000; ++i) given[i] = 1;
  const Estimate e = estimate_of("accuracy", classified(2, given, right, 100));
  EXPECT_EQ(e.value, 0.5);
  const Interval of_samples = share_interval(0.5, 40);
  EXPECT_NEAR(e.ci95->high - e.ci95->low, of_samples.high - of_samples.low, 0.03);
}

// The standard error of a mean of n numbers is their deviation over the root of n.
TEST(Estimate, TheBootstrapOfAMeanIsAsWideAsTheory) {
  Philox rng(3);
  std::vector<float> given, right;
  double sum = 0, squares = 0;
  for (int i = 0; i < 400; ++i) {
    given.push_back(rng.normal()), right.push_back(0);
    const double error = static_cast<double>(given.back()) * given.back();
    sum += error, squares += error * error;
  }
  const double mean = sum / 400, half = 1.96 * std::sqrt((squares / 400 - mean * mean) / 400);
  const Estimate e = estimate_of("mse", numbers(given, right));
  EXPECT_NEAR(e.value, mean, 1e-12);
  EXPECT_NEAR(e.ci95->low, mean - half, 0.12 * half);  // the error of a quantile of 1,000, and skewness
  EXPECT_NEAR(e.ci95->high, mean + half, 0.12 * half);
}

// Of 300 experiments of 60 samples, those whose interval holds the true value. At a level of 0.95 the least that would
// be seen but once in ten thousand is 0.95 - 3.7 sqrt(0.95·0.05/300) = 0.903; the bootstrap of so few is near it.
TEST(Estimate, IntervalsCoverTheTruth) {
  const double p = 0.8, mcc = 2 * p - 1;  // of two classes as frequent as each other
  int covered = 0;
  for (uint64_t i = 0; i < 300; ++i) covered += estimate_of("mcc", drawn(60, p, i)).ci95->contains(mcc);
  EXPECT_GE(covered, 271);
  EXPECT_LE(covered, 298);
}

TEST(Estimate, ASeedGivesTheSameInterval) {
  std::vector<float> given, right(30, 0);
  for (int i = 0; i < 30; ++i) given.push_back(0.1f * static_cast<float>(i));
  const Metric mse = parse_metric("mse");
  const Evidence evidence = evidence_of("mse", numbers(given, right));
  EXPECT_EQ(estimate(mse, evidence, 9).ci95->low, estimate(mse, evidence, 9).ci95->low);
  EXPECT_NE(estimate(mse, evidence, 9).ci95->low, estimate(mse, evidence, 10).ci95->low);
}

TEST(Estimate, TooFewSamplesGiveNoInterval) {
  EXPECT_FALSE(estimate_of("mse", numbers({1, 2, 3}, {1, 2, 4})).ci95);
  EXPECT_TRUE(estimate_of("accuracy", classified(2, {1, 1, 0}, {1, 1, 1})).ci95);  // Wilson's holds for any n
}

Difference difference_of(const std::string& metric, const Answers& base, const Answers& other) {
  return difference(parse_metric(metric), evidence_of(metric, base), evidence_of(metric, other));
}

TEST(Difference, AModelDoesNotDifferFromItself) {
  const GivenAnswers a = drawn(100, 0.7, 1);
  const Difference d = difference_of("f1", a, a);
  EXPECT_EQ(d.value, 0);
  EXPECT_EQ(d.ci95->low, 0);
  EXPECT_EQ(d.ci95->high, 0);
  EXPECT_FALSE(d.shown());
}

// 700 of 1,000 against the same but for 20 more: each interval holds the other's value, that of the difference not 0.
TEST(Difference, OfTheSameSamplesIsSharperThanTwoIntervals) {
  std::vector<int64_t> right(1000, 0), base(1000, 0), other(1000, 0);
  for (size_t i = 0; i < 300; ++i) base[i] = 1;
  for (size_t i = 0; i < 280; ++i) other[i] = 1;
  const GivenAnswers a = classified(2, base, right), b = classified(2, other, right);
  EXPECT_TRUE(estimate_of("accuracy", a).ci95->contains(0.72));
  const Difference d = difference_of("accuracy", a, b);
  EXPECT_NEAR(d.value, 0.02, 1e-12);
  EXPECT_TRUE(d.shown());
  EXPECT_NEAR(d.ci95->low, 0.02 - 1.96 * std::sqrt(0.02 * 0.98 / 1000), 0.002);
  EXPECT_LT(drop(parse_metric("accuracy"), d), 0);
}

TEST(Difference, ADropIsALossWhicheverWayIsBetter) {
  const Difference worse = difference_of("mse", numbers({1, 2}, {1, 2}), numbers({1, 3}, {1, 2}));
  EXPECT_EQ(drop(parse_metric("mse"), worse), 0.5);
}

TEST(Difference, OtherSamplesAreNotCompared) {
  EXPECT_EQ(error_of([] { difference_of("accuracy", drawn(10, 1, 1), drawn(11, 1, 1)); }),
            "10 and 11 samples: only what was measured on the same ones is compared");
}

}  // namespace
}  // namespace hone::test
