// What every sampler promises, over the table of them, and what some promise beyond that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "study/domination.h"
#include "study/samplers/cma.h"
#include "study/samplers/make_sampler.h"
#include "study/samplers/registry.h"
#include "study/study.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Options = std::vector<std::pair<std::string, std::string>>;

Study study_of(const std::string& sampler, uint64_t seed, const Options& options = {},
               std::vector<Direction> directions = {Direction::minimize}) {
  return Study(open_storage("memory"), {.directions = std::move(directions), .seed = seed},
               make_sampler(sampler, seed, options));
}

Space finite_space() {
  Space space;
  space.add({"depth", integer_distribution("depth", 1, 4)});
  space.add({"format", category_distribution("format", {"a", "b", "c"})});
  space.add({"group", category_distribution("group", {16, 32}), {{"format", {"b", "c"}}}});
  space.add({"rate", real_distribution("rate", 0, 1, 0.25)});
  space.constrain("depth + 4*rate <= 6");
  return space;
}

std::vector<double> score(LiveTrial& trial) {
  const Json v = trial.values();
  return {std::abs(double(v["depth"]) - 3) + (v["format"] == "b" ? 0 : 1) + std::abs(double(v["rate"]) - 0.5)};
}

TEST(EverySampler, StaysInTheSpaceAndRepeatsItself) {
  const Space space = finite_space();
  for (const SamplerDef* def : samplers::all()) {
    if (make_sampler(def->name, 0)->learns()) continue;  // tests/study/ilp_test.cc
    const auto values = [&](uint64_t seed) {
      Study study = study_of(def->name, seed);
      study.optimize(score, {.trials = 40}, &space);
      std::vector<std::vector<double>> all;
      for (const TrialPtr& t : *study.trials()) {
        EXPECT_EQ(space.violation(t->parameters), 0) << def->name;
        std::vector<double>& row = all.emplace_back();
        for (const SpaceParameter& p : space.parameters()) {
          const TrialParameter* have = t->find(p.name);
          EXPECT_EQ(have != nullptr, space.is_active(p, t->parameters)) << def->name << " " << p.name;
          EXPECT_TRUE(!have || p.distribution.contains(have->value)) << def->name << " " << p.name;
          row.push_back(have ? have->value : -1);
        }
      }
      return all;
    };
    const auto first = values(1);
    EXPECT_EQ(first, values(1)) << def->name;
    EXPECT_NE(first, values(2)) << def->name;
  }
}

TEST(EverySampler, IsFoundByNameAndSaysWhatItTakes) {
  for (const SamplerDef* def : samplers::all()) {
    EXPECT_NE(make_sampler(def->name, 0), nullptr);
    EXPECT_THROW(make_sampler(def->name, 0, {{"no-such-option", "1"}}), Error) << def->name;
  }
  try {
    make_sampler("tpee", 0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("Did you mean tpe"));
  }
  EXPECT_THROW(make_sampler("tpe", 0, {{"optuna", "6"}}), Error);
  EXPECT_THROW(make_sampler("tpe", 0, {{"group", "true"}, {"multivariate", "false"}}), Error);
  EXPECT_THROW(make_sampler("evolution", 0, {{"balance", "maybe"}}), Error);
}

TEST(Random, IsUniformOverStepsAndLogarithms) {
  Philox rng(5);
  const Distribution steps = real_distribution("x", 0, 1, 0.25), logs = integer_distribution("n", 1, 1023, 1, true);
  std::vector<int> counts(5), halves(10);
  for (int i = 0; i < 50000; ++i) {
    ++counts[static_cast<size_t>(std::lround(uniform_value(steps, rng) * 4))];
    const double n = uniform_value(logs, rng);
    ASSERT_TRUE(logs.contains(n));
    ++halves[static_cast<size_t>(std::log2(n))];
  }
  for (int c : counts) EXPECT_NEAR(c, 10000, 450);  // five standard deviations
  EXPECT_GT(halves[5], 2500);
  EXPECT_NEAR(halves[8], halves[5], 600);
}

TEST(Grid, TakesEveryPointOnceAlsoAfterAStop) {
  const Space space = finite_space();
  const auto storage = open_storage("memory");
  std::set<std::vector<double>> points;
  int64_t done = 0;
  for (int part = 0; part < 100; ++part) {
    Study study(storage, {}, make_sampler("grid", 3));
    const int64_t now = study.optimize(score, {.trials = 7}, &space);
    done += now;
    if (now < 7) break;
  }
  Study study(storage, {}, make_sampler("grid", 3));
  for (const TrialPtr& t : *study.trials()) {
    std::vector<double> row;
    for (const char* name : {"depth", "format", "group", "rate"})
      row.push_back(t->find(name) ? t->find(name)->value : -1);
    EXPECT_TRUE(points.insert(row).second);
  }
  // depth + 4 rate <= 6 leaves 5 + 5 + 4 + 3 of depth and rate; a has no group.
  EXPECT_EQ(points.size(), 17U * 5);
  EXPECT_EQ(done, 85);
  EXPECT_EQ(study.optimize(score, {.trials = 7}, &space), 0);
}

TEST(Grid, RefusesWhatIsTooLargeOrEndlessBeforeItStarts) {
  Space large;
  for (char c = 'a'; c < 'k'; ++c) large.add({std::string(1, c), integer_distribution("", 0, 9)});
  Study study = study_of("grid", 0);
  const auto said = [&](const Space& space) {
    try {
      study.optimize(score, {.trials = 1}, &space);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(said(large), HasSubstr("the grid has 1e+10 points"));
  Space endless;
  endless.add({"x", real_distribution("x", 0, 1)});
  EXPECT_THAT(said(endless), HasSubstr("parameter x is a continuum"));
  EXPECT_TRUE(study.trials()->empty());
}

TEST(Qmc, EachPowerOfTwoOfPointsFillsTheCells) {
  for (const char* scramble : {"true", "false"}) {
    Study study = study_of("qmc", 9, {{"scramble", scramble}});
    Space space;
    for (const char* name : {"a", "b", "c"}) space.add({name, real_distribution(name, 0, 1)});
    study.optimize([](LiveTrial&) { return std::vector{0.0}; }, {.trials = 64}, &space);
    for (size_t k = 0; k < 3; ++k) {
      std::set<int> cells;
      for (const TrialPtr& t : *study.trials()) cells.insert(static_cast<int>(t->parameters[k].value * 64));
      EXPECT_EQ(cells.size(), 64U) << scramble << k;
    }
    std::set<std::pair<int, int>> squares;
    for (const TrialPtr& t : *study.trials()) squares.emplace(t->parameters[0].value * 8, t->parameters[1].value * 8);
    EXPECT_EQ(squares.size(), 64U) << scramble;
  }
}

// The median over seeds of the best of `trials`.
double median_best(const std::string& sampler, const Options& options, const Space& space, const Study::Objective& f,
                   int64_t trials) {
  std::vector<double> best;
  for (uint64_t seed = 0; seed < 15; ++seed) {
    Study study = study_of(sampler, seed, options);
    study.optimize(f, {.trials = trials}, &space);
    best.push_back(study.best().at(0)->values[0]);
  }
  std::ranges::sort(best);
  return best[best.size() / 2];
}

TEST(Samplers, ThatLearnBeatRandomOnes) {
  Space space;
  for (const char* name : {"a", "b", "c", "d"}) space.add({name, real_distribution(name, -5, 5)});
  const auto bowl = [](LiveTrial& t) {
    double sum = 0;
    for (const TrialParameter& p : t.record().parameters) sum += (p.value - 1) * (p.value - 1);
    return std::vector{sum};
  };
  const double random = median_best("random", {}, space, bowl, 100);
  EXPECT_LT(median_best("tpe", {}, space, bowl, 100), random / 3);
  EXPECT_LT(median_best("tpe", {{"optuna", "4"}}, space, bowl, 100), random / 3);
  EXPECT_LT(median_best("tpe", {{"optuna", "4"}, {"multivariate", "true"}}, space, bowl, 100), random / 2);
  EXPECT_LT(median_best("tpe", {{"group", "true"}}, space, bowl, 100), random / 3);
  EXPECT_LT(median_best("cmaes", {}, space, bowl, 100), random / 3);
  EXPECT_LT(median_best("evolution", {}, space, bowl, 100), random);
  EXPECT_LT(median_best("nsga2", {{"population", "10"}}, space, bowl, 100), random);
}

TEST(Evolution, SwitchesWithinABudget) {
  // Formats per layer: what each loses falls with bits, and the bits have a budget.
  Space space;
  std::string sum;
  for (int i = 0; i < 16; ++i) {
    const std::string name = "layer" + std::to_string(i);
    space.add({name, category_distribution(name, {2, 3, 4, 6, 8})});
    sum += (i ? " + " : "") + name;
  }
  space.constrain(sum + " <= 64");
  const auto loss = [](LiveTrial& t) {
    double lost = 0, i = 0;
    for (const TrialParameter& p : t.record().parameters)
      lost += std::exp(i++ / 2) * std::pow(4.0, -p.distribution->outside(p.value).get<double>());
    return std::vector{lost};
  };
  const auto best = [&](const char* sampler) {
    Study study = study_of(sampler, 4);
    Json uniform = Json::object();
    for (const SpaceParameter& p : space.parameters()) uniform[p.name] = 4;
    study.enqueue(uniform);
    study.optimize(loss, {.trials = 150}, &space);
    for (const TrialPtr& t : *study.trials()) EXPECT_EQ(space.violation(t->parameters), 0);
    return study.best().at(0)->values[0] / (*study.trials())[0]->values[0];
  };
  EXPECT_LT(best("evolution"), 0.6);
}

TEST(Nsga2, FindsTheFrontOfTwoObjectives) {
  // ZDT1 of three parameters: the front is b = c = 0, where f2 = 1 - sqrt(f1).
  Space space;
  for (const char* name : {"a", "b", "c"}) space.add({name, real_distribution(name, 0, 1)});
  const auto zdt1 = [](LiveTrial& t) {
    const auto& p = t.record().parameters;
    const double g = 1 + 9 * (p[1].value + p[2].value) / 2;
    return std::vector{p[0].value, g * (1 - std::sqrt(p[0].value / g))};
  };
  const std::vector<Direction> two{Direction::minimize, Direction::minimize};
  const auto volume = [&](const char* sampler, const Options& options) {
    Study study = study_of(sampler, 1, options, two);
    study.optimize(zdt1, {.trials = 300}, &space);
    return hypervolume(losses_of(study.best(), two), std::vector{1.1, 11.0});
  };
  const double random = volume("random", {});
  EXPECT_GT(volume("nsga2", {{"population", "30"}}), random);
  EXPECT_GT(volume("tpe", {}), random);
  EXPECT_GT(volume("tpe", {{"optuna", "4"}}), random);
}

TEST(Cma, FollowsAValley) {
  // Rosenbrock of four parameters, from a corner: 1e-8 within 400 generations.
  Cma cma(std::vector<double>(4, -1), 0.5);
  Philox rng(2);
  double best = 1e9;
  for (int g = 0; g < 400; ++g) {
    std::vector<std::pair<double, std::vector<double>>> points;
    for (size_t i = 0; i < cma.population(); ++i) {
      std::vector<double> x = cma.sample(rng);
      double f = 0;
      for (size_t k = 0; k + 1 < x.size(); ++k) f += 100 * std::pow(x[k + 1] - x[k] * x[k], 2) + std::pow(1 - x[k], 2);
      points.emplace_back(f, std::move(x));
    }
    std::ranges::sort(points);
    best = std::min(best, points[0].first);
    std::vector<std::vector<double>> ordered;
    for (auto& [f, x] : points) ordered.push_back(std::move(x));
    cma.tell(ordered);
  }
  EXPECT_LT(best, 1e-8);
}

TEST(Domination, RanksVolumesAndDistances) {
  const Points points{{1, 4}, {2, 2}, {4, 1}, {3, 3}, {4, 4}, {1, 4}};
  EXPECT_EQ(domination_ranks(points), (std::vector{0, 0, 0, 1, 2, 0}));
  EXPECT_DOUBLE_EQ(hypervolume({{1, 4}, {2, 2}, {4, 1}}, std::vector{5.0, 5.0}), 4 + 6 + 1);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 0, 0}}, std::vector{1.0, 2.0, 3.0}), 6);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, std::vector{2.0, 2.0, 2.0}), 3 * 4 - 3 * 2 + 1);
  const std::vector<double> apart = crowding_distances({{0, 3}, {1, 1}, {3, 0}});
  EXPECT_TRUE(std::isinf(apart[0]) && std::isinf(apart[2]));
  EXPECT_DOUBLE_EQ(apart[1], 2);
}

TEST(Tpe, RunningTrialsKeepOthersAway) {
  // Ten trials are asked for at once: with the constant liar they are not all at the best place.
  Space space;
  space.add({"x", real_distribution("x", 0, 1)});
  const auto spread = [&](const char* liar) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      Study study = study_of("tpe", seed, {{"constant-liar", liar}});
      study.optimize([](LiveTrial& t) { return std::vector{std::abs(t.record().parameters[0].value - 0.4)}; },
                     {.trials = 30}, &space);
      std::vector<double> asked;
      for (int i = 0; i < 10; ++i) asked.push_back(study.ask(space).record().parameters[0].value);
      std::ranges::sort(asked);
      sum += asked.back() - asked.front();
    }
    return sum;
  };
  EXPECT_GT(spread("true"), spread("false"));
}

}  // namespace
}  // namespace hone
