// The Parzen estimators and the split of trials against what Optuna 4.9 and 5.0 computed
// (bench/peers/optuna_golden.py).
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "study/python_json.h"
#include "study/samplers/parzen.h"
#include "study/samplers/tpe_history.h"
#include "study/samplers/truncated_normal.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

class Recorded : public testing::TestWithParam<int> {
 protected:
  Json read() const {
    return read_json_file(std::string(test::kTestData) + "/search/tpe_" + std::to_string(GetParam()) + ".json");
  }
};
INSTANTIATE_TEST_SUITE_P(Optuna, Recorded, testing::Values(4, 5));

TEST_P(Recorded, LogDensitiesAreEqual) {
  int compared = 0;
  const Json golden = read();
  for (const Json& c : golden.at("densities")) {
    std::vector<DistributionPtr> space;
    for (const Json& text : c.at("space"))
      space.push_back(std::make_shared<const Distribution>(parse_distribution(text.get<std::string>(), "x", "golden")));
    const bool scott = GetParam() == 4 && c.at("multivariate").get<bool>();
    const std::vector<double> weights =
        c.at("weights").is_null() ? std::vector<double>() : c.at("weights").get<std::vector<double>>();
    const ParzenEstimator estimator(space, c.at("observations").get<Columns>(),
                                    scott ? Bandwidth::scott : Bandwidth::neighbours, weights);
    const std::vector<double> found = estimator.log_pdf(c.at("points").get<Columns>());
    const auto expected = c.at("log_pdf").get<std::vector<double>>();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i, ++compared)
      EXPECT_NEAR(found[i], expected[i], 1e-9 * std::max(1.0, std::abs(expected[i])))
          << c.at("space").dump() << c.at("multivariate") << c.at("observations")[0].size();
  }
  EXPECT_GT(compared, 700);
}

TEST_P(Recorded, TheSameTrialsAreGood) {
  const Json golden = read();
  ASSERT_EQ(golden.at("splits").size(), 4U);
  for (const Json& c : golden.at("splits")) {
    std::vector<Direction> directions;
    for (const Json& d : c.at("directions")) directions.push_back(*parse_direction(d.get<std::string>()));
    TrialList trials;
    for (const Json& row : c.at("trials")) {
      TrialRecord trial{.id = static_cast<int64_t>(trials.size()), .number = static_cast<int64_t>(trials.size())};
      trial.state = *parse_trial_state(row.at("state").get<std::string>());
      if (!row.at("values").is_null()) trial.values = row.at("values").get<std::vector<double>>();
      for (const Json& report : row.at("reports")) trial.intermediate.emplace_back(report[0], report[1]);
      if (!row.at("constraints").is_null()) set_member(trial.system_attributes, kConstraintsKey, row.at("constraints"));
      trials.push_back(std::make_shared<const TrialRecord>(trial));
    }
    TpeHistory history;
    history.update({.name = "s", .directions = directions, .trials = trials}, false);
    for (const auto& [count, expected] : c.at("below").items()) {
      const TpeHistory::Split split = history.split(std::stoul(count), true, -1);
      std::vector<int64_t> below(split.below.begin(), split.below.end());
      EXPECT_EQ(below, expected.get<std::vector<int64_t>>()) << directions.size() << " objectives, " << count;
      EXPECT_EQ(split.below.size() + split.above.size(), static_cast<size_t>(history.finished()));
    }
  }
}

TEST(TruncatedNormal, TailsKeepTheirDigits) {
  // scipy.stats.norm.logcdf and logsf differences.
  EXPECT_NEAR(normal_log_cdf(-1), -1.8410216450092636, 1e-14);
  EXPECT_NEAR(normal_log_cdf(-30), -454.32124395634327, 1e-10);
  EXPECT_NEAR(normal_log_cdf(-100), -5005.524208694205, 1e-9);
  EXPECT_NEAR(normal_log_mass(40, 41), normal_log_cdf(-40), 1e-12);
  EXPECT_NEAR(normal_log_mass(-41, -40), normal_log_mass(40, 41), 1e-12);
  for (double p : {1e-300, 1e-10, 0.01, 0.3, 0.5, 0.9, 1 - 1e-10})
    EXPECT_NEAR(0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / p, 1, 1e-9) << p;
  for (double u : {0.0, 0.1, 0.999}) {
    EXPECT_GE(truncated_normal(u, 50, 51), 50);
    EXPECT_LE(truncated_normal(u, -51, -50), -50);
  }
}

TEST(ParzenEstimator, SamplesFollowTheirDensity) {
  // A chi-square of 20,000 draws over the 15 values of a step: below 36.1 but for one in a thousand (14 degrees of
  // freedom).
  const std::vector<DistributionPtr> space{std::make_shared<const Distribution>(integer_distribution("n", 2, 16))};
  const ParzenEstimator estimator(space, {{2, 3, 3, 9, 16}}, Bandwidth::neighbours);
  Philox rng(3);
  constexpr size_t kDraws = 20000;
  const Columns drawn = estimator.sample(rng, kDraws);
  std::vector<double> values, count(15, 0);
  for (int i = 2; i <= 16; ++i) values.push_back(i);
  for (double v : drawn[0]) ++count[static_cast<size_t>(v) - 2];
  const std::vector<double> log_pdf = estimator.log_pdf({values});
  double chi = 0, sum = 0;
  for (size_t i = 0; i < 15; ++i) {
    const double expected = kDraws * std::exp(log_pdf[i]);
    chi += (count[i] - expected) * (count[i] - expected) / expected;
    sum += std::exp(log_pdf[i]);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_LT(chi, 36.1);
}

}  // namespace
}  // namespace hone
