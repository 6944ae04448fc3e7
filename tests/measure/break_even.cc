#include "measure/break_even.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(BreakEven, PaysBackWhatPreparationCost) {
  // ceil((1.0 + 0.2 + 0.05 - 0.05) / (0.1 - 0.05)) = 24 runs; 23 would have cost 2.3 against 2.35 s.
  const BreakEven b =
      break_even({.first = 0.1, .steady = 0.1}, {.compile = 1.0, .prepack = 0.2, .first = 0.05, .steady = 0.05});
  EXPECT_EQ(b.runs, 24);
  EXPECT_NEAR(*b.seconds(), 2.4, 1e-9);
  EXPECT_GT(b.candidate.total(23), b.base.total(23));
}

TEST(BreakEven, IsTheFirstRunWhenNothingIsLost) {
  EXPECT_EQ(break_even({.compile = 2, .first = 0.1, .steady = 0.1}, {.compile = 1, .first = 0.1, .steady = 0.2}).runs,
            1);
}

TEST(BreakEven, IsNeverWhenNoRunIsFaster) {
  const BreakEven b = break_even({.first = 0.1, .steady = 0.1}, {.compile = 1, .first = 0.1, .steady = 0.1});
  EXPECT_FALSE(b.runs);
  EXPECT_FALSE(b.seconds());
}

TEST(BreakEven, TotalsCountTheFirstRunOnce) {
  const RunCost cost{.compile = 1, .prepack = 2, .first = 3, .steady = 0.5};
  EXPECT_EQ(cost.total(1), 6);
  EXPECT_EQ(cost.total(11), 11);
}

}  // namespace
}  // namespace hone
