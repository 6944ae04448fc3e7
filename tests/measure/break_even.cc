#include "measure/break_even.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Ratio shown(double value, Interval ci95) { return {.value = value, .ci95 = ci95, .rounds = 100}; }

TEST(BreakEven, PaysBackWhatPreparationCost) {
  // ceil((0.99 + 0.2 + 0.05 - 0.05) / (0.1 - 0.05)) = 24 runs; 23 would have cost 2.34 against 2.3 s.
  const SetUps base(10, {.first = 0.1, .steady = 0.1}),
      candidate(10, {.compile = 0.99, .prepack = 0.2, .first = 0.05, .steady = 0.05});
  const auto b = break_even(base, candidate, shown(2, {2, 2}));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->runs, 24);
  EXPECT_NEAR(b->seconds, 2.39, 1e-9);
  EXPECT_EQ(b->ci95->low, 24);
  EXPECT_EQ(b->ci95->high, 24);
  EXPECT_GT(candidate[0].total(23), base[0].total(23));
}

TEST(BreakEven, IsTheFirstRunWhenNothingIsLost) {
  const SetUps base(1, {.compile = 2, .first = 0.1, .steady = 0.1}),
      candidate(1, {.compile = 1, .first = 0.05, .steady = 0.05});
  EXPECT_EQ(break_even(base, candidate, shown(2, {1.9, 2.1}))->runs, 1);
  EXPECT_FALSE(break_even(base, candidate, shown(2, {1.9, 2.1}))->ci95);  // one set-up says nothing of others
}

// A cheaper set-up does not pay for runs that are slower, or of which nothing is known.
TEST(BreakEven, IsNeverWhereNoRunIsShownToBeFaster) {
  const SetUps base(10, {.compile = 2, .first = 0.1, .steady = 0.1}),
      candidate(10, {.compile = 1, .first = 0.1, .steady = 0.099});
  EXPECT_FALSE(break_even(base, candidate, shown(1.01, {0.98, 1.04})));
  EXPECT_FALSE(break_even(base, candidate, shown(0.9, {0.85, 0.95})));
  EXPECT_FALSE(break_even({}, {}, shown(2, {1.9, 2.1})));
}

TEST(BreakEven, ItsIntervalFollowsTheSetUpsAndTheRatio) {
  SetUps base, candidate;
  for (int i = 0; i < 10; ++i) {
    base.push_back({.first = 0.1, .steady = 0.1});
    candidate.push_back({.compile = 1.0 + 0.01 * i, .first = 0.05, .steady = 0.05});
  }
  const auto b = break_even(base, candidate, shown(2, {1.6, 2.5}));
  // From the second smallest to the second largest extra cost; gains 0.1 (1 - 1 / 2.5) and 0.1 (1 - 1 / 1.6).
  EXPECT_EQ(b->runs, 21);
  EXPECT_EQ(b->ci95->low, 17);
  EXPECT_EQ(b->ci95->high, 29);
}

TEST(BreakEven, TotalsCountTheFirstRunOnce) {
  const RunCost cost{.compile = 1, .prepack = 2, .first = 3, .steady = 0.5};
  EXPECT_EQ(cost.total(1), 6);
  EXPECT_EQ(cost.total(11), 11);
}

}  // namespace
}  // namespace hone
