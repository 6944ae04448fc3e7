#include "measure/turns.h"

#include <gtest/gtest.h>

#include <set>

#include "measure/ratio.h"

namespace hone {
namespace {

TEST(Turns, NobodyComesFirstMoreOften) {
  Turns turns(2, 1);
  int first[2] = {0, 0};
  for (int i = 0; i < 10; ++i) ++first[turns.next()[0]];
  EXPECT_EQ(first[0], 5);
  EXPECT_EQ(first[1], 5);
}

TEST(Turns, EachOrderIsFollowedByItsReverse) {
  Turns turns(5, 7);
  std::set<std::vector<size_t>> orders;
  for (int i = 0; i < 20; ++i) {
    const std::vector<size_t> forth = turns.next(), back = turns.next();
    EXPECT_EQ(back, std::vector<size_t>(forth.rbegin(), forth.rend()));
    EXPECT_EQ(std::set<size_t>(forth.begin(), forth.end()).size(), 5U);
    orders.insert(forth);
  }
  EXPECT_GT(orders.size(), 10U);
}

// Whoever comes first takes a fifth longer. In a fixed order that is a difference in each of the comparisons; in turn
// it is one in none.
TEST(Turns, WhatComingFirstCostsIsNoDifference) {
  constexpr int kComparisons = 200, kSetUps = 10;
  int claims = 0, claims_in_fixed_order = 0;
  for (uint64_t seed = 1; seed <= kComparisons; ++seed) {
    Philox noise(seed);
    Turns turns(2, seed);
    std::vector<double> in_turn[2], fixed[2];
    const auto take = [&](size_t place) { return 26 * (place == 0 ? 1.2 : 1.0) * (1 + 0.02 * noise.normal()); };
    for (int i = 0; i < kSetUps; ++i) {
      const std::vector<size_t> order = turns.next();
      for (size_t place = 0; place < 2; ++place)
        in_turn[order[place]].push_back(take(place)), fixed[place].push_back(take(place));
    }
    const auto claimed = [](const std::vector<double>* samples) {
      Timing a = summarise("a", samples[0], 0.01), b = summarise("b", samples[1], 0.01);
      for (size_t i = 1; i <= kSetUps; ++i) a.placement_ends.push_back(i), b.placement_ends.push_back(i);
      return speed_ratio(a, b).difference_shown();
    };
    claims += claimed(in_turn), claims_in_fixed_order += claimed(fixed);
  }
  EXPECT_LE(claims, kComparisons / 50);
  EXPECT_EQ(claims_in_fixed_order, kComparisons);
}

TEST(Turns, OneIsAPermutationToo) { EXPECT_EQ(Turns(1, 1).next(), std::vector<size_t>{0}); }

}  // namespace
}  // namespace hone
