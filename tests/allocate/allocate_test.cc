#include "allocate/allocate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

const std::vector<std::string> kNames = {"two", "four", "eight"};

// Twelve tensors of one size; what a format loses on each differs by its weight.
std::vector<std::vector<Choice>> items_with(const std::vector<double>& weights) {
  std::vector<std::vector<Choice>> items;
  for (double weight : weights) items.push_back({{2, 16 * weight}, {4, weight}, {8, weight / 256}});
  return items;
}

double sum_of(const std::vector<std::vector<Choice>>& items, std::span<const int> chosen) {
  return select(items, chosen).loss;
}

std::vector<double> weights(uint64_t seed) {
  Philox rng(seed);
  std::vector<double> w;
  for (int i = 0; i < 12; ++i) w.push_back(std::exp(2.0 * static_cast<double>(rng.normal())));
  return w;
}

TEST(Allocate, MixesFormatsWhereTensorsDiffer) {
  const auto items = items_with(weights(1));
  const Allocation found = allocate(
      items, kNames, {.budget = 48, .trials = 4, .score = [&](std::span<const int> c) { return sum_of(items, c); }});
  const Trial& best = found.trials[found.best];
  EXPECT_FALSE(found.is_uniform);
  EXPECT_LE(best.cost, 48);
  EXPECT_LT(best.score, 0.7 * sum_of(items, std::vector<int>(12, 1)));  // all in four bits cost the same
}

TEST(Allocate, RefinementFindsWhatPredictionsMissed) {
  std::vector<double> off = weights(1);
  Philox rng(4);
  for (double& weight : off) weight *= std::exp(static_cast<double>(rng.normal()));
  const auto predicted = items_with(off), truth = items_with(weights(1));
  const auto score = [&](std::span<const int> c) { return sum_of(truth, c); };
  const Allocation plain = allocate(predicted, kNames, {.budget = 48, .trials = 0, .score = score});
  const Allocation refined = allocate(predicted, kNames, {.budget = 48, .trials = 60, .score = score});
  EXPECT_LT(refined.trials[refined.best].score, plain.trials[plain.best].score);
  for (const Trial& trial : refined.trials) EXPECT_LE(trial.cost, 48);
  EXPECT_LE(refined.trials.size(), 60 + 1 + 2U);  // the solution, two uniform choices
}

TEST(Allocate, ABudgetForEverythingLeavesNothingToRefine) {
  const auto items = items_with({1, 2, 3});
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto score = [&](std::span<const int> c) { return sum_of(items, c); };
    const Allocation found = allocate(items, kNames, {.budget = 1000, .trials = 8, .seed = seed, .score = score});
    EXPECT_EQ(found.trials[found.best].chosen, (std::vector<int>{2, 2, 2}));
  }
}

TEST(Allocate, IsNeverWorseThanOneFormatForAll) {
  // Predictions that say the opposite of the truth.
  const auto predicted = items_with(weights(1));
  const auto score = [&](std::span<const int> c) {
    return std::all_of(c.begin(), c.end(), [](int i) { return i == 1; }) ? 1.0 : 2.0;
  };
  const Allocation found = allocate(predicted, kNames, {.budget = 48, .trials = 5, .score = score});
  EXPECT_TRUE(found.is_uniform);
  EXPECT_EQ(found.trials[found.best].origin, "uniform four");
}

TEST(Allocate, NamesTheLeastCostWhenTheBudgetCantBeMet) {
  const auto items = items_with(weights(1));
  try {
    allocate(items, kNames, {.budget = 23, .score = [](std::span<const int>) { return 0.0; }});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()),
              "no choice of formats meets the budget of 23; the least that can be reached is 24");
  }
}

TEST(Allocate, OneSeedGivesOneHistory) {
  const auto items = items_with(weights(3));
  const auto run = [&](uint64_t seed) {
    return allocate(items, kNames, {.budget = 50, .trials = 8, .seed = seed, .score = [&](std::span<const int> c) {
                                      return sum_of(items, c) * (1 + 0.1 * c[0]);
                                    }});
  };
  const Allocation a = run(5), b = run(5);
  ASSERT_EQ(a.trials.size(), b.trials.size());
  for (size_t i = 0; i < a.trials.size(); ++i) EXPECT_EQ(a.trials[i].chosen, b.trials[i].chosen);
}

}  // namespace
}  // namespace hone
