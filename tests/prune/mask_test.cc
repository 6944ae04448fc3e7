// From scores to masks: exact counts, rows, neighbours, and layers together.
#include "prune/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"

namespace hone {
namespace {

int64_t gone(const Mask& mask) { return std::ranges::count(mask, 0); }

TEST(Masks, ExactlyTheShareGoes) {
  Philox random(3);
  std::vector<float> scores(1000);
  for (float& s : scores) s = random.normal();
  for (double sparsity : {0.0, 0.001, 0.25, 0.5, 0.999}) {
    const Mask mask = keep_best(scores, 10, 100, {.sparsity = sparsity});
    EXPECT_EQ(gone(mask), std::llround(sparsity * 1000));
    float worst_kept = 1e9, best_gone = -1e9;
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i]) worst_kept = std::min(worst_kept, scores[i]);
      else best_gone = std::max(best_gone, scores[i]);
    EXPECT_LE(best_gone, worst_kept);
  }
}

TEST(Masks, OfEqualScoresTheFirstGo) {
  EXPECT_EQ(keep_best(std::vector<float>(4, 1.0f), 1, 4, {.sparsity = 0.5}), (Mask{0, 0, 1, 1}));
}

TEST(Masks, RowsLoseAlikeWhereAsked) {
  const std::vector<float> scores = {1, 2, 3, 4, 10, 20, 30, 40};
  EXPECT_EQ(keep_best(scores, 2, 4, {.sparsity = 0.5}), (Mask{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(keep_best(scores, 2, 4, {.sparsity = 0.5, .by_row = true}), (Mask{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(Masks, OfEachFourTheBestTwoStayAndARestStays) {
  const std::vector<float> scores = {1, 9, 8, 2, 5, 5, 7, 6, 0, 0};
  EXPECT_EQ(keep_best(scores, 1, 10, {.keep = 2, .of = 4}), (Mask{0, 1, 1, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Masks, LayersTogetherLoseTheLowestOfAll) {
  const std::vector<float> layers[] = {{1, 2, 3, 4}, {2.5, 100, 100, 100}};
  EXPECT_EQ(shares_of_all(layers, 0.5), (std::vector<double>{0.75, 0.25}));
}

}  // namespace
}  // namespace hone
