#include "measure/boxes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hone {
namespace {

TEST(Boxes, OverlapIsSharedOverCoveredArea) {
  const Box a{0, 0, 10, 10};
  EXPECT_EQ(intersection_over_union(a, a), 1);
  EXPECT_DOUBLE_EQ(intersection_over_union(a, {0, 5, 10, 15}), 1.0 / 3);
  EXPECT_EQ(intersection_over_union(a, {10, 0, 20, 10}), 0) << "they only touch";
  EXPECT_EQ(intersection_over_union(a, {5, 5, 5, 5}), 0);
  EXPECT_EQ(intersection_over_union(a, {NAN, 0, 10, 10}), 0);
  EXPECT_EQ(intersection_over_union(a, {0, 0, INFINITY, 10}), 0);
}

// The better scored of two candidates takes the box; the other is left with nothing, though it overlaps as well.
TEST(Boxes, EachIsMatchedOnce) {
  const std::vector<Box> reference{{0, 0, 10, 10, 1, 0}}, candidate{{0, 0, 10, 9, .5f, 0}, {0, 0, 10, 8, .9f, 0}};
  const BoxMatches m = match_boxes(reference, candidate, 0.5);
  EXPECT_EQ(m.matched, 1);
  EXPECT_DOUBLE_EQ(m.iou, 0.8);
  EXPECT_EQ(m.reference, 1);
  EXPECT_EQ(m.candidate, 2);
}

TEST(Boxes, ABoxOfAnotherLabelOrPlaceIsAnother) {
  const std::vector<Box> one{{0, 0, 10, 10, 1, 3}};
  EXPECT_EQ(match_boxes(one, std::vector<Box>{{0, 0, 10, 10, 1, 4}}, 0.5).matched, 0);
  EXPECT_EQ(match_boxes(one, std::vector<Box>{{0, 5, 10, 15, 1, 3}}, 0.5).matched, 0);
  EXPECT_EQ(match_boxes(one, std::vector<Box>{{0, 5, 10, 15, 1, 3}}, 0.3).matched, 1);
  EXPECT_EQ(match_boxes(one, std::vector<Box>{{20, 20, 30, 30, 1, 3}}, 0).matched, 0) << "none overlaps";
}

}  // namespace
}  // namespace hone
