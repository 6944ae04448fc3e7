#include "generate/next_token.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// Probabilities 0.5, 0.25, 0.125, 0.125.
const std::vector<float> kLogits{std::log(0.125f), std::log(0.5f), std::log(0.125f), std::log(0.25f)};

std::vector<int64_t> ids_of(const std::vector<Candidate>& all) {
  std::vector<int64_t> ids;
  for (const Candidate& each : all) ids.push_back(each.id);
  return ids;
}

using Ids = std::vector<int64_t>;

TEST(NextToken, IsTheLargestLogitWithoutATemperatureAndTheSmallerIdOfEquals) {
  EXPECT_EQ(choose_token(kLogits, {}, {}, 1, 0), 1);
  EXPECT_EQ(choose_token(std::vector<float>{1, 3, 3}, {}, {}, 1, 0), 1);
}

TEST(NextToken, CandidatesHaveTheProbabilitiesOfSoftmax) {
  const std::vector<Candidate> all = candidates(kLogits, {}, {.temperature = 1});
  EXPECT_EQ(ids_of(all), (Ids{1, 3, 0, 2}));
  for (const auto& [i, want] : {std::pair(0, 0.5), std::pair(1, 0.25), std::pair(2, 0.125), std::pair(3, 0.125)})
    EXPECT_NEAR(all[static_cast<size_t>(i)].probability, want, 1e-7);
}

TEST(NextToken, ATemperatureOfAHalfSquaresProbabilities) {
  const std::vector<Candidate> all = candidates(kLogits, {}, {.temperature = 0.5});
  EXPECT_NEAR(all[0].probability / all[1].probability, 4, 1e-6);
}

TEST(NextToken, TopKKeepsThoseEqualToTheLast) {
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .top_k = 2})), (Ids{1, 3}));
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .top_k = 3})), (Ids{1, 3, 0, 2}));
}

TEST(NextToken, TopPKeepsTheFewestThatReachIt) {
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .top_p = 0.4})), (Ids{1}));
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .top_p = 0.6})), (Ids{1, 3}));
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .top_p = 0})), (Ids{1}));
}

// With top-k 2, probabilities are 2/3 and 1/3 before top-p looks at them: 0.6 is reached by the first.
TEST(NextToken, TopPLooksAtWhatTopKLeft) {
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .top_k = 2, .top_p = 0.6})), (Ids{1}));
}

TEST(NextToken, MinPIsAShareOfTheLargest) {
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .min_p = 0.4})), (Ids{1, 3}));
  EXPECT_EQ(ids_of(candidates(kLogits, {}, {.temperature = 1, .min_p = 1})), (Ids{1}));
}

TEST(NextToken, RepeatPenaltyDividesPositiveLogitsAndMultipliesOthersOnce) {
  const std::vector<float> logits{2, 1.5, -1};
  EXPECT_EQ(choose_token(logits, Ids{0, 0}, {.repeat_penalty = 2}, 1, 0), 1);
  const std::vector<Candidate> all = candidates(logits, Ids{0, 0, 2}, {.temperature = 1, .repeat_penalty = 2});
  EXPECT_NEAR(std::log(all[0].probability / all[1].probability), 0.5, 1e-9);  // 1.5 and 2 / 2
  EXPECT_NEAR(std::log(all[1].probability / all[2].probability), 3, 1e-9);    // 1 and -1 * 2
}

TEST(NextToken, PickTakesTheCandidateInWhosePartTheNumberLies) {
  const std::vector<Candidate> all{{7, 0.5}, {3, 0.25}, {5, 0.25}};
  EXPECT_EQ(pick(all, 0), 7);
  EXPECT_EQ(pick(all, 0.49), 7);
  EXPECT_EQ(pick(all, 0.5), 3);
  EXPECT_EQ(pick(all, 0.75), 5);
  EXPECT_EQ(pick(all, 1), 5);  // sums may round to less than 1
}

// 4,000 draws of probability 0.5: four deviations are 4 * sqrt(4000 / 4) = 126.
TEST(NextToken, DrawsFollowTheProbabilitiesAndTheSeed) {
  int64_t first = 0;
  for (int64_t step = 0; step < 4000; ++step) first += choose_token(kLogits, {}, {.temperature = 1}, 5, step) == 1;
  EXPECT_NEAR(static_cast<double>(first), 2000, 126);
  int differ = 0;
  for (int64_t step = 0; step < 50; ++step) {
    EXPECT_EQ(choose_token(kLogits, {}, {.temperature = 1}, 5, step),
              choose_token(kLogits, {}, {.temperature = 1}, 5, step));
    differ += choose_token(kLogits, {}, {.temperature = 1}, 5, step) !=
              choose_token(kLogits, {}, {.temperature = 1}, 6, step);
  }
  EXPECT_GT(differ, 0);
}

TEST(NextToken, LogProbabilityIsOfTheLogitsAsTheyAre) {
  EXPECT_NEAR(log_probability(kLogits, 3), std::log(0.25), 1e-7);
  EXPECT_NEAR(log_probability(std::vector<float>{1000, 1000}, 0), std::log(0.5), 1e-12);
}

TEST(NextToken, RefusesNaNAndInfinitiesByPlaceAndTakesMaskedTokens) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of([] {
              candidates(std::vector<float>{0, NAN}, {}, {});
            }),
            "logits can't be chosen from: NaN at token 1");
  EXPECT_EQ(error_of([] {
              candidates(std::vector<float>{kInf, 0}, {}, {});
            }),
            "logits can't be chosen from: inf at token 0");
  EXPECT_EQ(error_of([] { candidates(std::vector<float>{-kInf}, {}, {}); }),
            "logits can't be chosen from: no finite one");
  EXPECT_EQ(choose_token(std::vector<float>{-kInf, 0}, {}, {.temperature = 1}, 1, 0), 1);
}

TEST(NextToken, RefusesOptionsThatSayNothing) {
  EXPECT_EQ(error_of([] { check(ChoiceOptions{.temperature = -1}); }),
            "option temperature: expected a number from 0 to 100, found -1");
  EXPECT_EQ(error_of([] { check(ChoiceOptions{.temperature = 1e-310}); }),
            "option temperature: 1e-310 is too small; 0 chooses the largest logit, and others are at least 1e-06");
  EXPECT_EQ(error_of([] { check(ChoiceOptions{.top_p = NAN}); }),
            "option top-p: expected a number from 0 to 1, found nan");
  EXPECT_EQ(error_of([] { check(ChoiceOptions{.top_k = -2}); }), "option top-k: expected an integer from 0, found -2");
  EXPECT_EQ(error_of([] { candidates(kLogits, Ids{4}, {.repeat_penalty = 2}); }),
            "token 4 is beyond the 4 tokens of the model's vocabulary");
}

}  // namespace
}  // namespace hone::test
