#include "measure/turns.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(Turns, OneIsAPermutationToo) { EXPECT_EQ(Turns(1, 1).next(), std::vector<size_t>{0}); }

}  // namespace
}  // namespace hone
