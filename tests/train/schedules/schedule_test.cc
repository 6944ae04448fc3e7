// Rates step by step: the forms of the schedules, the warm-up before them, and what is refused.
#include "train/schedules/schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/error_of.h"

namespace hone::test {
namespace {

void expect_rates(const ScheduleOptions& options, int64_t steps, const std::vector<double>& expected) {
  const Schedule schedule(options, 2, steps);
  ASSERT_EQ(std::ssize(expected), steps);
  for (int64_t step = 0; step < steps; ++step)
    EXPECT_NEAR(schedule.rate(step), expected[static_cast<size_t>(step)], 1e-12) << "step " << step;
}

TEST(Schedule, EachFormHasItsRates) {
  expect_rates({.schedule = "constant"}, 3, {2, 2, 2});
  expect_rates({.schedule = "linear"}, 4, {2, 1.5, 1, 0.5});
  expect_rates({.schedule = "linear", .final_rate = 0.5}, 4, {2, 1.75, 1.5, 1.25});
  expect_rates({.schedule = "cosine"}, 3, {2, 1.5, 0.5});
  expect_rates({.schedule = "step", .step_every = 2}, 5, {2, 2, 0.2, 0.2, 0.02});
  expect_rates({.schedule = "step", .step_every = 0.5, .step_factor = 0.5}, 4, {2, 2, 1, 1});
}

TEST(Schedule, OneCycleIsPyTorchs) {
  // get_last_lr() of torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2, total_steps=10) before each step.
  expect_rates({.schedule = "one-cycle"}, 10,
               {0.08, 1.04, 2.0, 1.9009692640269473, 1.6234913078995261, 1.2225240438725786, 0.7774839561274215,
                0.37651669210047395, 0.09903873597305257, 8e-06});
}

TEST(Schedule, AWarmUpRisesInEqualPartsAndTheScheduleHasTheRest) {
  expect_rates({.schedule = "constant", .warmup = 3}, 5, {0.5, 1, 1.5, 2, 2});
  expect_rates({.schedule = "linear", .warmup = 0.2}, 5, {1, 2, 1.5, 1, 0.5});
}

TEST(Schedule, FallsAreCountedFromTheFirstStepAndAShareIsOfAll) {
  const std::vector<double> expected{0.5, 1, 1.5, 2, 1, 1, 1, 1, 0.5, 0.5};  // 2 / 4 a step, then half of it at 4 and 8
  expect_rates({.schedule = "step", .warmup = 3, .step_every = 0.4, .step_factor = 0.5}, 10, expected);
  expect_rates({.schedule = "step", .warmup = 3, .step_every = 4, .step_factor = 0.5}, 10, expected);
}

TEST(Schedule, StepsPastTheLastKeepItsRate) {
  const Schedule schedule({.schedule = "linear"}, 1, 4);
  EXPECT_EQ(schedule.rate(100), schedule.rate(3));
  EXPECT_GT(schedule.rate(100), 0);
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  const auto refused = [](const ScheduleOptions& options, double rate = 1, int64_t steps = 4) {
    return error_of([&] { Schedule(options, rate, steps); });
  };
  EXPECT_EQ(refused({.schedule = "cosin"}),
            "unknown schedule cosin; known: constant, linear, cosine, step, one-cycle. Did you mean cosine or "
            "constant?");
  EXPECT_EQ(refused({}, 0), "the rate is 0; accepted: numbers above 0");
  EXPECT_EQ(refused({}, 1, 0), "a schedule needs at least one step, found 0");
  EXPECT_EQ(refused({.warmup = 4}), "the warm-up takes 4 steps, and there are 4; shorten it (warmup) or train longer");
  EXPECT_EQ(refused({.schedule = "one-cycle", .warmup = 0.1}),
            "warmup is 0.1, and the schedule one-cycle has a warm-up of its own: it rises from 1/25 during 30 % of the "
            "steps, then falls to 1/250,000. Leave warmup out");
  EXPECT_EQ(refused({.final_rate = 2}), "final-rate is 2; accepted: 0 to 1, a share of the rate");
  EXPECT_EQ(refused({.step_factor = 0}), "step-factor is 0; accepted: above 0 to 1");
}

}  // namespace
}  // namespace hone::test
