// No word that compares without the interval that shows it.
#include "measure/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Claim, OnlyAnIntervalOnOneSideShowsADifference) {
  EXPECT_EQ(shown(Interval{1.01, 1.2}, 1), Shown::above);
  EXPECT_EQ(shown(Interval{0.8, 0.99}, 1), Shown::below);
  EXPECT_EQ(shown(Interval{1, 1.2}, 1), Shown::nothing);
  EXPECT_EQ(shown(std::nullopt, 1), Shown::nothing);
}

TEST(Claim, TwoThatWereMeasuredApartAreToldApartWhereTheirIntervalsAre) {
  EXPECT_EQ(shown_apart(Interval{0.1, 0.2}, Interval{0.3, 0.4}), Shown::below);
  EXPECT_EQ(shown_apart(Interval{0.3, 0.4}, Interval{0.1, 0.2}), Shown::above);
  EXPECT_EQ(shown_apart(Interval{0.1, 0.3}, Interval{0.3, 0.4}), Shown::nothing);
  EXPECT_EQ(shown_apart(Interval{0.1, 0.2}, std::nullopt), Shown::nothing);
}

TEST(Claim, OneMoreRightRowOfAThousandIsNoDifference) {
  EXPECT_EQ(verdict(Difference{.value = 0.001, .ci95 = Interval{-0.002, 0.004}}, {.is_share = true}),
            "no difference shown (-0.20 to 0.40 points)");
  EXPECT_EQ(verdict(Difference{.value = -0.02, .ci95 = Interval{-0.03, -0.01}}, {.is_share = true}),
            "2.00 points lower (1.00-3.00), which is worse");
  EXPECT_EQ(verdict(Difference{.value = -0.5, .ci95 = Interval{-0.7, -0.3}}, {.larger_is_better = false}),
            "0.5 lower (0.3-0.7), which is better");
  EXPECT_EQ(verdict(Difference{.value = 0.5}, {}), "difference 0.5");
}

TEST(Claim, ManyComparisonsAreCountedByWhatIsShown) {
  Tally tally;
  tally.add(Shown::nothing, true);
  EXPECT_EQ(verdict(tally), "no difference shown in any of 1");
  tally.add(Shown::above, true), tally.add(Shown::above, false);
  EXPECT_EQ(verdict(tally), "better in 1 of 3, worse in 1, no difference shown in 1");
}

}  // namespace
}  // namespace hone
