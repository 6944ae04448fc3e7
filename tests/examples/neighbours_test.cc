#include "examples/demo/neighbours.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Tensor rows(std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size()) / 2;
  return Tensor::of<float>({n, 2}, values);
}

TEST(Neighbours, TheNearestIsTheOneOfTheLargestCosineNotOfTheSmallestDistance) {
  const NeighbourResult r = classify_by_neighbours(rows({100, 0, 0, 1}), {7, 8}, rows({1, 0.5f}), {7}, 1);
  EXPECT_EQ(r.nearest, std::vector<int>{0});
  EXPECT_EQ(r.predicted, std::vector<int>{7});
  EXPECT_EQ(r.accuracy, 1);
}

TEST(Neighbours, TheFirstOfEqualsIsTheNearest) {
  EXPECT_EQ(classify_by_neighbours(rows({0, 1, 2, 0, 1, 0}), {0, 1, 2}, rows({3, 0}), {1}, 1).nearest,
            std::vector<int>{1});
}

// Cosines with (1, 0): 1 for class 5, and 0.8 twice for class 6. One vote takes the nearest, three weigh 1 against 1.6.
TEST(Neighbours, VotesAreWeightedByCosine) {
  const Tensor index = rows({1, 0, 4, 3, 4, -3});
  EXPECT_EQ(classify_by_neighbours(index, {5, 6, 6}, rows({1, 0}), {5}, 1).predicted, std::vector<int>{5});
  const NeighbourResult three = classify_by_neighbours(index, {5, 6, 6}, rows({1, 0}), {5}, 3);
  EXPECT_EQ(three.predicted, std::vector<int>{6});
  EXPECT_EQ(three.nearest, std::vector<int>{0});
  EXPECT_EQ(three.accuracy, 0);
}

// 1 against 0.5 + 0.45 (vectors at 60 degrees and a bit more): two far ones do not outvote a near one.
TEST(Neighbours, ANearOneOutweighsTwoFarOnes) {
  const Tensor index = rows({1, 0, 0.5f, 0.8660254f, 0.45f, -0.8930286f});
  EXPECT_EQ(classify_by_neighbours(index, {5, 6, 6}, rows({1, 0}), {5}, 3).predicted, std::vector<int>{5});
}

TEST(Neighbours, MoreVotesThanTextsAskThemAll) {
  EXPECT_EQ(classify_by_neighbours(rows({1, 0, 0, 1}), {3, 4}, rows({1, 2}), {4}, 50).predicted, std::vector<int>{4});
}

TEST(Neighbours, AccuracyIsTheShareOfRightQueries) {
  const NeighbourResult r =
      classify_by_neighbours(rows({1, 0, 0, 1}), {0, 1}, rows({1, 0, 0, 1, 2, 1, 1, 2}), {0, 0, 0, 1}, 1);
  EXPECT_EQ(r.predicted, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(r.accuracy, 0.75);
}

TEST(Neighbours, AnEmbeddingOfZerosIsNobodysNeighbour) {
  EXPECT_EQ(classify_by_neighbours(rows({0, 0, 1, 3}), {0, 1}, rows({1, 1}), {1}, 1).nearest, std::vector<int>{1});
}

}  // namespace
}  // namespace hone
