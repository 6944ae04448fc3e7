// The samplers that solve for measured losses, on a problem whose best choices can be counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/philox.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr size_t kLayers = 24;
constexpr int kBits[] = {2, 4, 8};

// Layers whose sensitivities differ by orders of magnitude. The measured losses are off by a factor for the first and
// another for the second half, which the true ones are not.
struct Problem {
  Problem() {
    Philox rng(3);
    for (size_t l = 0; l < kLayers; ++l) {
      space.add({fmt::format("l{:02}", l), category_distribution("l", {2, 4, 8})});
      table.parameters.push_back(fmt::format("l{:02}", l));
      const double s = std::exp(2 * static_cast<double>(rng.normal())), wrong = l < kLayers / 2 ? 4 : 0.25;
      std::vector<Choice>& item = table.items.emplace_back();
      for (int bits : kBits) {
        truth.push_back(s * std::exp2(-2 * bits));
        item.push_back({static_cast<double>(bits), truth.back() * wrong});
      }
    }
    table.budget = 4.0 * kLayers;
  }
  double cost(const TrialRecord& t) const {
    double sum = 0;
    for (const TrialParameter& p : t.parameters) sum += kBits[static_cast<size_t>(p.value)];
    return sum;
  }
  double loss(const TrialRecord& t) const {
    double sum = 0;
    for (size_t l = 0; l < kLayers; ++l) sum += truth[3 * l + static_cast<size_t>(t.parameters[l].value)];
    return sum;
  }
  // The losses of all trials, in order.
  std::vector<double> run(const std::string& sampler, int64_t trials,
                          std::vector<Direction> directions = {Direction::minimize}) {
    std::unique_ptr<Sampler> made = make_sampler(sampler, 1);
    if (made->learns()) made->learn(table);
    Study study(open_storage("memory"), {.directions = directions, .seed = 1}, std::move(made));
    std::vector<double> losses;
    study.optimize(
        [&](LiveTrial& t) {
          costs.push_back(cost(t.record()));
          losses.push_back(loss(t.record()));
          return directions.size() == 1 ? std::vector{losses.back()} : std::vector{losses.back(), costs.back()};
        },
        {.trials = trials}, &space);
    return losses;
  }
  Space space;
  ChoiceTable table;
  std::vector<double> truth, costs;
};

TEST(Ilp, TracesTheFrontFromTheWholeBudgetDown) {
  Problem problem;
  problem.run("ilp", 100);
  ASSERT_LE(problem.costs.size(), 16u);  // the points that it has, and no more
  ASSERT_GT(problem.costs.size(), 8u);
  EXPECT_LE(problem.costs[0], 96);
  EXPECT_GE(problem.costs[0], 95);  // a step of two bits may not fit
  EXPECT_EQ(problem.costs[1], 48);  // all in two bits
  for (double cost : problem.costs) EXPECT_LE(cost, 96);
}

TEST(Ilp, IsTheExactSolutionOfWhatItWasGiven) {
  Problem problem;
  const double solved = solve_knapsack(problem.table.items, 96)->loss;
  problem.run("ilp", 1);
  Problem again;
  std::unique_ptr<Sampler> sampler = make_sampler("ilp", 1);
  sampler->learn(again.table);
  Study study(open_storage("memory"), {}, std::move(sampler));
  LiveTrial trial = study.ask(again.space);
  double loss = 0;
  for (size_t l = 0; l < kLayers; ++l)
    loss += again.table.items[l][static_cast<size_t>(trial.record().parameters[l].value)].loss;
  EXPECT_DOUBLE_EQ(loss, solved);
}

TEST(IlpTpe, KeepsTheBudgetAndCorrectsWhatWasMeasuredWrong) {
  Problem problem;
  const std::vector<double> losses = problem.run("ilp-tpe", 60);
  ASSERT_EQ(losses.size(), 60u);
  for (double cost : problem.costs) EXPECT_LE(cost, 96);
  const double trusting = losses[0], best = *std::ranges::min_element(losses);
  Problem exact;
  for (size_t l = 0; l < kLayers; ++l)
    for (size_t c = 0; c < 3; ++c) exact.table.items[l][c].loss = exact.truth[3 * l + c];
  const double optimum = solve_knapsack(exact.table.items, 96)->loss;
  EXPECT_LT(best - optimum, 0.5 * (trusting - optimum));  // at least half of the way
  Problem black_box;
  const std::vector<double> random = black_box.run("random", 60);
  double feasible = INFINITY;
  for (size_t i = 0; i < random.size(); ++i)
    if (black_box.costs[i] <= 96) feasible = std::min(feasible, random[i]);
  EXPECT_LT(best, feasible);
}

TEST(IlpTpe, SpendsDifferentBudgetsForSeveralObjectives) {
  Problem problem;
  problem.table.budget.reset();
  problem.run("ilp-tpe", 30, {Direction::minimize, Direction::minimize});
  const auto [least, most] = std::ranges::minmax(problem.costs);
  EXPECT_GT(most - least, 48);
}

TEST(SolvingSamplers, RepeatThemselvesAndRefuseWhatTheyWereNotGiven) {
  for (const char* name : {"ilp", "ilp-tpe"}) {
    EXPECT_EQ(Problem().run(name, 12), Problem().run(name, 12)) << name;
    Problem problem;
    Study study(open_storage("memory"), {}, make_sampler(name, 1));
    try {
      study.ask(problem.space);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("was given nothing"));
    }
    problem.table.budget = 10;
    try {
      make_sampler(name, 1)->learn(problem.table);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("the least that can be reached is 48"));
    }
  }
}

}  // namespace
}  // namespace hone
