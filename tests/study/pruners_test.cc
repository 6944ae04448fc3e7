#include "study/pruners/make_pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"

namespace hone {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

// Trials one after the other that report the given curves; the steps at which each was pruned, -1 where none was.
std::vector<int> pruned_at(const std::string& pruner, const Options& options,
                           const std::vector<std::vector<double>>& curves, Direction direction = Direction::minimize) {
  Study study(open_storage("memory"), {.directions = {direction}}, make_sampler("random", 0),
              make_pruner(pruner, options));
  std::vector<int> result;
  for (const std::vector<double>& curve : curves) {
    LiveTrial trial = study.ask();
    int at = -1;
    for (size_t step = 0; step < curve.size() && at < 0; ++step) {
      trial.report(curve[step], static_cast<int64_t>(step));
      if (trial.should_prune()) at = static_cast<int>(step);
    }
    study.tell(trial, at < 0 ? TrialState::complete : TrialState::pruned,
               at < 0 ? std::vector{curve.back()} : std::vector<double>());
    result.push_back(at);
  }
  return result;
}

TEST(MedianPruner, EndsWhatIsWorseThanTheMedianOfCompleteTrials) {
  const std::vector<std::vector<double>> curves{{1, 1}, {2, 2}, {3, 3}, {2.1, 9}, {2, 2}, {1.9, 5}};
  EXPECT_EQ(pruned_at("median", {{"startup", "3"}}, curves), (std::vector{-1, -1, -1, 0, -1, -1}));
  EXPECT_EQ(pruned_at("median", {{"startup", "3"}, {"warmup", "1"}}, curves), (std::vector{-1, -1, -1, 1, -1, -1}));
  EXPECT_EQ(pruned_at("median", {{"startup", "3"}}, {{1}, {2}, {3}, {1.9}, {2}}, Direction::maximize),
            (std::vector{-1, -1, -1, 0, -1}));
}

TEST(PercentilePruner, TakesThePercentileBetweenNeighbours) {
  // The quarter of 0, 1, 2, 3, 4 is 1: as numpy.percentile.
  const std::vector<std::vector<double>> begin{{0}, {1}, {2}, {3}, {4}};
  auto curves = begin;
  curves.push_back({1.01});
  EXPECT_EQ(pruned_at("percentile", {}, curves).back(), 0);
  curves.back() = {1};
  EXPECT_EQ(pruned_at("percentile", {}, curves).back(), -1);
  curves.back() = {NAN};
  EXPECT_EQ(pruned_at("percentile", {}, curves).back(), 0);
}

TEST(PercentilePruner, LooksOnceInAnInterval) {
  const std::vector<std::vector<double>> curves{{1, 1, 1, 1, 1}, {9, 9, 9, 9, 9}};
  EXPECT_EQ(
      pruned_at("percentile", {{"percentile", "50"}, {"startup", "1"}, {"warmup", "1"}, {"interval", "3"}}, curves)
          .back(),
      1);
}

TEST(ThresholdPruner, EndsWhatLeavesTheRange) {
  EXPECT_EQ(pruned_at("threshold", {{"upper", "5"}}, {{1, 6}, {5, 5}, {NAN}}), (std::vector{1, -1, 0}));
  EXPECT_THROW(make_pruner("threshold"), Error);
}

TEST(PatiencePruner, BearsSoManyReportsWithoutImprovement) {
  EXPECT_EQ(pruned_at("patience", {{"patience", "1"}}, {{3, 2, 1, 1.5, 1.4, 0}, {3, 2, 1, 0}}), (std::vector{4, -1}));
  EXPECT_EQ(pruned_at("patience", {{"patience", "1"}}, {{1, 2, 3, 2.5, 2.6}}, Direction::maximize), (std::vector{4}));
}

TEST(SuccessiveHalving, LetsTheBestShareGoOn) {
  // Rungs at steps 1, 2 and 4; with reduction 2 a trial goes on when in the better half, or the best of the first.
  const std::vector<std::vector<double>> curves{
      {5, 5, 5, 5, 5}, {9, 9, 9, 9, 9}, {4, 4, 4, 4, 4}, {6, 6, 6, 6, 6}, {4.5, 4.5, 4.5, 4.5, 4.5}};
  EXPECT_EQ(pruned_at("successive-halving", {{"min-resource", "1"}, {"reduction", "2"}}, curves),
            (std::vector{-1, 1, -1, 1, 2}));
}

TEST(Hyperband, BracketsAreThoseOfOptuna) {
  // HyperbandPruner(1, 27, 3)._get_bracket_id of study "s", trials 0 to 11, in Optuna 5.0.0.
  const std::unique_ptr<Pruner> pruner = make_pruner("hyperband", {{"max-resource", "27"}});
  const std::vector<Direction> directions{Direction::minimize};
  const StudyView view{.name = "s", .directions = directions};
  std::vector<int> brackets;
  for (int64_t number = 0; number < 12; ++number) brackets.push_back(pruner->bracket(view, number));
  EXPECT_EQ(brackets, (std::vector{2, 1, 3, 3, 3, 2, 1, 1, 0, 0, 0, 0}));
}

TEST(Pruners, NamesAndValuesAreChecked) {
  for (const auto& [name, options] :
       std::vector<std::pair<std::string, Options>>{{"medain", {}},
                                                    {"none", {{"startup", "1"}}},
                                                    {"median", {{"startpu", "1"}}},
                                                    {"median", {{"startup", "-1"}}},
                                                    {"percentile", {{"percentile", "101"}}},
                                                    {"successive-halving", {{"reduction", "1"}}},
                                                    {"hyperband", {{"bootstrap", "1"}}},
                                                    {"patience", {{"patience", "x"}}}})
    EXPECT_THROW(make_pruner(name, options), Error) << name;
  EXPECT_EQ(make_pruner("none"), nullptr);
  EXPECT_THROW(Study(open_storage("memory"), {.directions = {Direction::minimize, Direction::minimize}},
                     make_sampler("random", 0), make_pruner("median")),
               Error);
}

}  // namespace
}  // namespace hone
