#include "measure/quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

TEST(Quality, OfSmallVectorsIsWhatAHandComputes) {
  const Quality q = compare(std::vector<float>{3, 4, 0}, std::vector<float>{3, 4.5f, 0.25f});
  EXPECT_EQ(q.max_abs_error, 0.5);
  EXPECT_EQ(q.max_rel_error, 0.125);  // the third has no reference to be relative to
  EXPECT_NEAR(q.cosine, 27 / (5 * std::sqrt(9 + 20.25 + 0.0625)), 1e-15);
  EXPECT_NEAR(q.sqnr_db, 10 * std::log10(25 / 0.3125), 1e-12);
}

TEST(Quality, EqualVectorsHaveInfiniteSignalToNoise) {
  const std::vector<float> x{1, -2};
  EXPECT_EQ(compare(x, x).sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(compare(x, x).cosine, 1);
}

TEST(Quality, CountsWhatIsNotFiniteInsteadOfHidingIt) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Quality q = compare(std::vector<float>{1, 1, inf}, std::vector<float>{1, nan, 2});
  EXPECT_EQ(q.not_finite, 2);
  EXPECT_EQ(q.elements, 3);
  EXPECT_TRUE(std::isnan(q.cosine));
  EXPECT_TRUE(std::isnan(q.sqnr_db));
  EXPECT_EQ(q.max_abs_error, inf);
  const RowCosine rows = row_cosine(std::vector<float>{1, 1, 1}, std::vector<float>{1, nan, 1}, 1);
  EXPECT_TRUE(std::isnan(rows.mean));
  EXPECT_TRUE(std::isnan(rows.min));
}

TEST(Quality, LeavesOutWhatIsTheSameInfinity) {  // a mask, say
  const float inf = std::numeric_limits<float>::infinity();
  const Quality q = compare(std::vector<float>{1, -inf}, std::vector<float>{1, -inf});
  EXPECT_EQ(q.not_finite, 1);
  EXPECT_EQ(q.cosine, 1);
  EXPECT_EQ(q.max_abs_error, 0);
}

TEST(Quality, SumsInDouble) {  // in binary32 the sum of squares would stop growing at 2^24
  const std::vector<float> ones(20'000'001, 1.f);
  std::vector<float> last = ones;
  last.back() = 0;
  EXPECT_NEAR(compare(ones, last).sqnr_db, 10 * std::log10(20'000'001.0), 1e-9);
}

TEST(Quality, DifferentLengthsAreRefused) {
  EXPECT_THROW(compare(std::vector<float>{1}, std::vector<float>{1, 2}), Error);
}

TEST(Top1, CountsRowsWithTheSameWinner) {
  const std::vector<float> reference{1, 2, 3, 9, 0, 0, 5, 5, 1, 0, 1, 0};
  const std::vector<float> result{0, 0, 1, 2, 3, 0, 7, 6, 1, std::nanf(""), 1, 0};
  EXPECT_EQ(top1_agreement(reference, result, 3), 0.5);  // the first and, by its first of equals, the third
  EXPECT_THROW(top1_agreement(reference, result, 5), Error);
}

TEST(RowCosine, MeansOverRows) {
  const RowCosine c = row_cosine(std::vector<float>{1, 0, 0, 1}, std::vector<float>{2, 0, 1, 0}, 2);
  EXPECT_EQ(c.rows, 2);
  EXPECT_EQ(c.mean, 0.5);
  EXPECT_EQ(c.min, 0);
}

TEST(Divergence, OfTwoRowsOfScoresIsWhatAHandComputes) {
  const std::vector<float> even{0, 0}, third{0, std::log(2.f)};  // 1/2, 1/2 and 1/3, 2/3
  EXPECT_NEAR(divergence(even, third), 0.5 * std::log(1.5) + 0.5 * std::log(0.75), 1e-7);
  EXPECT_EQ(divergence(third, third), 0);
  EXPECT_TRUE(std::isnan(divergence(even, std::vector<float>{0, std::nanf("")})));
}

TEST(RelativeError, IsTheMeanOverOutputsWithAnIntervalOfTheParts) {
  const std::vector<float> reference{3, 4, 0, 5}, result{3, 5, 0, 5};
  const std::vector<SquaredError> parts = squared_errors(reference, result, 2);
  EXPECT_EQ(parts[0].relative(), 1.0 / 25);
  EXPECT_EQ(parts[1].relative(), 0);
  const std::vector<std::vector<SquaredError>> outputs{parts, squared_errors(reference, reference, 2)};
  const RelativeError error = relative_error(outputs);
  EXPECT_DOUBLE_EQ(error.mean, 0.01);  // of 1/50 and 0
  EXPECT_TRUE(error.ci95.contains(error.mean));
  EXPECT_EQ(error.ci95.low, 0);
}

TEST(RelativeError, IsInfiniteWhereThereIsNoNumberOrAnotherSize) {
  const std::vector<float> one{1}, nan{std::nanf("")}, two{1, 1}, zero{0};
  EXPECT_TRUE(std::isinf(squared_error(one, nan).relative()));
  EXPECT_TRUE(std::isinf(squared_errors(one, two, 1)[0].relative()));
  EXPECT_TRUE(std::isinf(squared_error(zero, one).relative()));
  EXPECT_EQ(squared_error(zero, zero).relative(), 0);
}

}  // namespace
}  // namespace hone
