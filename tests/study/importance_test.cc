#include "study/importance.h"

#include <gtest/gtest.h>

#include "base/philox.h"

namespace hone {
namespace {

// value = 4 a + (1 where the category is "x"); `noise` decides nothing.
TrialList trials(int64_t count) {
  Philox rng(1);
  const auto a = std::make_shared<const Distribution>(real_distribution("a", 0, 1)),
             noise = std::make_shared<const Distribution>(integer_distribution("noise", 1, 100)),
             category = std::make_shared<const Distribution>(category_distribution("category", {"w", "x", "y", "z"}));
  TrialList all;
  for (int64_t i = 0; i < count; ++i) {
    TrialRecord t{.number = i, .state = TrialState::complete};
    const double v = rng.uniform(), c = rng.below(4);
    t.parameters = {{"noise", static_cast<double>(1 + rng.below(100)), noise}, {"category", c, category}, {"a", v, a}};
    t.values = {4 * v + (c == 1 ? 1 : 0)};
    all.push_back(std::make_shared<const TrialRecord>(std::move(t)));
  }
  return all;
}

TEST(Importances, RankWhatDecidesTheValue) {
  const std::vector<Importance> found = importances(trials(120), 0, 1);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].parameter, "a");
  EXPECT_EQ(found[1].parameter, "category");
  EXPECT_EQ(found[2].parameter, "noise");
  // Variances of the terms: 16/12 and 3/16. Shuffling shows twice of each, the shares are as they are.
  EXPECT_NEAR(found[0].share, 1.333 / (1.333 + 0.1875), 0.08);
  EXPECT_LT(found[2].share, 0.05);
  const std::vector<Importance> again = importances(trials(120), 0, 1);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].share, again[i].share);
}

TEST(Importances, OfFewTrialsOrOfOneValueSayNothing) {
  EXPECT_TRUE(importances(trials(7), 0, 1).empty());
  TrialList level = trials(20);
  for (TrialPtr& t : level) {
    TrialRecord same = *t;
    same.values = {5};
    t = std::make_shared<const TrialRecord>(std::move(same));
  }
  for (const Importance& i : importances(level, 0, 1)) EXPECT_EQ(i.share, 0);
}

TEST(Importances, ParametersThatSomeTrialsLackCount) {
  TrialList all = trials(60);
  for (TrialPtr& t : all) {
    TrialRecord part = *t;
    if (part.number % 2 == 0) part.parameters.pop_back(), part.values = {-10};
    t = std::make_shared<const TrialRecord>(std::move(part));
  }
  EXPECT_EQ(importances(all, 0, 1).at(0).parameter, "a");
}

}  // namespace
}  // namespace hone
