#include "measure/neighbours.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hone {
namespace {

// Directions at 0, 10, 30, 65 and 100 degrees, of different lengths.
const std::vector<float> kRows{2, 0, 0.985f, 0.174f, 0.866f, 0.5f, 0.423f, 0.906f, -0.174f, 0.985f};

TEST(Neighbours, AreThoseOfTheLargestCosine) {
  const auto nearest = nearest_rows(kRows, 2, 2);
  EXPECT_EQ(nearest[0], (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(nearest[2], (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(nearest[4], (std::vector<int64_t>{3, 2}));
}

TEST(Neighbours, AreSharedByShares) {
  std::vector<float> turned = kRows;
  turned[0] = -2;  // now nearest to the last
  EXPECT_EQ(shared_neighbours(kRows, kRows, 2, 3), (std::vector<double>(5, 1.0)));
  EXPECT_EQ(shared_neighbours(kRows, turned, 2, 2)[0], 0);
  EXPECT_EQ(shared_neighbours(kRows, turned, 2, 2)[1], 0.5);
}

TEST(Neighbours, NeedAnotherRow) {
  EXPECT_THROW(nearest_rows(kRows, 2, 5), Bug);
  EXPECT_THROW(shared_neighbours(kRows, std::vector<float>(4), 2, 1), Error);
}

}  // namespace
}  // namespace hone
