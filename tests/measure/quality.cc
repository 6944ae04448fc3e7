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

}  // namespace
}  // namespace hone
