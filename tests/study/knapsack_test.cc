#include "study/knapsack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/philox.h"

namespace hone {
namespace {

using Items = std::vector<std::vector<Choice>>;

// Every selection, one after the other.
double best_by_trying_all(const Items& items, double budget) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> chosen(items.size(), 0);
  for (;;) {
    const Solution s = select(items, chosen);
    if (s.cost <= budget) best = std::min(best, s.loss);
    size_t i = 0;
    while (i < items.size() && ++chosen[i] == static_cast<int>(items[i].size())) chosen[i++] = 0;
    if (i == items.size()) return best;
  }
}

Items random_items(Philox& rng, size_t count, size_t choices, bool integers) {
  Items items(count);
  for (std::vector<Choice>& item : items)
    for (size_t c = 0; c < choices; ++c) {
      const double cost = rng.uniform() * 100;
      item.push_back({integers ? std::floor(cost) : cost, rng.uniform() * 10});
    }
  return items;
}

TEST(Knapsack, FindsWhatTryingAllSelectionsFinds) {
  Philox rng(7);
  for (int round = 0; round < 300; ++round) {
    const Items items = random_items(rng, 1 + rng.below(6), 1 + rng.below(5), round % 2 == 0);
    const Solution least = cheapest(items);
    const double budget = least.cost + rng.uniform() * 60 * static_cast<double>(items.size());
    const std::optional<Solution> found = solve_knapsack(items, budget);
    ASSERT_TRUE(found);
    EXPECT_LE(found->cost, budget);
    EXPECT_NEAR(found->loss, best_by_trying_all(items, budget), 1e-9);
  }
}

TEST(Knapsack, TellsThatEvenTheCheapestIsAboveTheBudget) {
  const Items items = {{{3, 1}, {5, 0}}, {{4, 1}}};
  EXPECT_FALSE(solve_knapsack(items, 6.9));
  EXPECT_EQ(solve_knapsack(items, 7)->chosen, (std::vector<int>{0, 0}));
  EXPECT_EQ(cheapest(items).cost, 7);
}

TEST(Knapsack, GreedyWouldBeWrongHere) {
  // The step of best gain per cost leaves room for nothing else.
  const Items items = {{{0, 10}, {6, 3}}, {{0, 10}, {5, 5}}, {{0, 10}, {5, 5}}};
  EXPECT_EQ(solve_knapsack(items, 10)->chosen, (std::vector<int>{0, 1, 1}));
}

TEST(Knapsack, SolvesAnEncoderOfManyLikeLayers) {
  // 300 tensors of few shapes in ten formats, whose losses fall by about four for each bit.
  Philox rng(3);
  Items items;
  for (int i = 0; i < 300; ++i) {
    const double elements = i % 6 == 5 ? 1536 * 384 : 384 * 384, weight = std::exp(rng.normal());
    std::vector<Choice> choices;
    for (double bits : {1.25, 2.25, 3.25, 4.25, 4.5, 5.25, 6.25, 8.25, 16., 32.})
      choices.push_back({elements * bits / 8, weight * std::pow(0.25, bits) * (1 + 0.2 * rng.uniform())});
    items.push_back(choices);
  }
  const double all = select(items, std::vector<int>(items.size(), 9)).cost;
  for (double bits : {2.0, 3.3, 4.5, 7.7}) {
    const std::optional<Solution> found = solve_knapsack(items, all * bits / 32);
    ASSERT_TRUE(found);
    for (size_t i = 0; i < items.size(); ++i)
      for (const Choice& other : items[i]) {
        const Choice& chosen = items[i][static_cast<size_t>(found->chosen[i])];
        if (found->cost + other.cost - chosen.cost <= all * bits / 32) {
          EXPECT_GE(other.loss, chosen.loss - 1e-9 * found->loss);
        }
      }
  }
}

}  // namespace
}  // namespace hone
