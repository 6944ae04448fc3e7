#include "measure/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/philox.h"
#include "measure/claim.h"

namespace hone {
namespace {

// A machine whose clock moves only when a candidate says so.
struct FakeMachine {
  int64_t now_ns = 0;
  Philox rng{3};
  std::vector<std::string> calls;

  TimedCall taking(std::string name, double ns, double noise = 0) {
    return {name, [this, name, ns, noise] {
              calls.push_back(name);
              now_ns += static_cast<int64_t>(ns * std::exp(noise * rng.normal()));
            }};
  }
  TimingOptions options() {
    TimingOptions o;
    o.clock_ns = [this] { return now_ns; };
    return o;
  }
};

constexpr double kMs = 1e6;

TEST(Interleave, AQuietCandidateNeedsOnlyTheFewestRounds) {
  FakeMachine machine;
  const TimedCall one[] = {machine.taking("a", 2 * kMs)};
  const Timing t = interleave(one, machine.options()).at(0);
  EXPECT_EQ(t.name, "a");
  EXPECT_EQ(t.n(), 30);
  EXPECT_EQ(t.p50, 2 * kMs);
  EXPECT_EQ(t.median_ci95.low, 2 * kMs);
  EXPECT_TRUE(t.noise_target_met);
}

TEST(Interleave, ANoisyCandidateGetsMoreRoundsUntilTheTargetIsMet) {
  FakeMachine machine;
  const TimedCall one[] = {machine.taking("a", kMs, 0.1)};
  const Timing t = interleave(one, machine.options()).at(0);
  EXPECT_GT(t.n(), 100);
  EXPECT_TRUE(t.noise_target_met);
  EXPECT_LE(t.median_ci95.high - t.median_ci95.low, 0.02 * t.p50);
}

TEST(Interleave, StopsAtTheLimitsAndSaysThatTheTargetIsNotMet) {
  FakeMachine machine;
  TimingOptions options = machine.options();
  options.max_rounds = 40;
  const TimedCall one[] = {machine.taking("a", kMs, 0.5)};
  const Timing by_rounds = interleave(one, options).at(0);
  EXPECT_EQ(by_rounds.n(), 40);
  EXPECT_FALSE(by_rounds.noise_target_met);

  options.max_seconds = 0.01;
  const TimedCall slow[] = {machine.taking("slow", 6 * kMs)};
  EXPECT_EQ(interleave(slow, options).at(0).n(), 2);
}

TEST(Interleave, EachRoundCallsEveryCandidateOnceInAnOrderThatTheSeedDecides) {
  std::map<uint64_t, std::vector<std::string>> orders;
  for (uint64_t seed : {1, 1, 2}) {
    FakeMachine machine;
    TimingOptions options = machine.options();
    options.seed = seed;
    const TimedCall three[] = {machine.taking("a", kMs), machine.taking("b", kMs), machine.taking("c", kMs)};
    const std::vector<Timing> timings = interleave(three, options);
    const int warmup = timings[0].warmup_calls + timings[1].warmup_calls + timings[2].warmup_calls;
    std::vector<std::string> measured(machine.calls.begin() + warmup, machine.calls.end());
    ASSERT_EQ(measured.size(), 90u);
    int not_alphabetic = 0;
    for (size_t r = 0; r < measured.size(); r += 3) {
      std::vector<std::string> round(measured.begin() + long(r), measured.begin() + long(r) + 3);
      not_alphabetic += round != std::vector<std::string>{"a", "b", "c"};
      std::sort(round.begin(), round.end());
      ASSERT_EQ(round, (std::vector<std::string>{"a", "b", "c"}));
    }
    EXPECT_GT(not_alphabetic, 15);  // five of six orders; 15 of 30 would be six standard deviations below
    if (orders.count(seed)) {
      EXPECT_EQ(orders[seed], measured);
    }
    orders[seed] = measured;
  }
  EXPECT_NE(orders[1], orders[2]);
}

TEST(Interleave, WarmsUpUntilTheCandidateGetsNoFaster) {
  FakeMachine machine;
  int call = 0;
  const TimedCall one[] = {
      {"heats up", [&] { machine.now_ns += call++ < 10 ? 100'000'000 - call * 9'000'000 : 1'000'000; }}};
  const Timing t = interleave(one, machine.options()).at(0);
  EXPECT_GE(t.warmup_calls, 10);
  EXPECT_EQ(t.max, kMs);
}

TEST(Interleave, AQuickCandidateIsCalledManyTimesPerSample) {
  FakeMachine machine;
  const TimedCall one[] = {machine.taking("quick", 100)};
  const Timing t = interleave(one, machine.options()).at(0);
  EXPECT_EQ(t.calls_per_sample, 500);  // 50 us / 100 ns
  EXPECT_EQ(t.p50, 100);
}

TEST(Interleave, KeepsOutliers) {
  FakeMachine machine;
  int call = 0;
  const TimedCall one[] = {{"a", [&] { machine.now_ns += ++call == 20 ? 50'000'000 : 1'000'000; }}};
  const Timing t = interleave(one, machine.options()).at(0);
  EXPECT_EQ(t.max, 50 * kMs);
  EXPECT_EQ(t.p50, kMs);
}

TEST(Interleave, PassesOnTheExceptionOfACandidate) {
  const TimedCall one[] = {{"bad", [] { fail("no such input"); }}};
  EXPECT_THROW(interleave(one), Error);
}

TEST(Ratio, DriftThatBothShareCancels) {
  std::vector<double> base, candidate;
  for (int round = 1; round <= 20; ++round) base.push_back(160.0 * round), candidate.push_back(100.0 * round);
  const Ratio r = speed_ratio(summarise("base", base, 0.01), summarise("candidate", candidate, 0.01));
  EXPECT_DOUBLE_EQ(r.value, 1.6);
  EXPECT_DOUBLE_EQ(r.ci95.low, 1.6);
  EXPECT_DOUBLE_EQ(r.ci95.high, 1.6);
}

TEST(Ratio, RoundsOfDifferentRunsAreABug) {
  EXPECT_THROW(speed_ratio(summarise("a", {1, 2}, 0.01), summarise("b", {1}, 0.01)), Bug);
}

TEST(Verdict, FasterAndSlowerOnlyWhenTheIntervalExcludesOne) {
  EXPECT_EQ(verdict({1.63, {1.60, 1.66}, 50}), "1.63x faster (1.60-1.66)");
  EXPECT_EQ(verdict({0.8, {0.78125, 0.8333}, 50}), "1.25x slower (1.20-1.28)");
  EXPECT_EQ(verdict({1.01, {0.98, 1.03}, 50}), "no difference shown (0.98-1.03)");
  EXPECT_EQ(verdict({1.0, {1.0, 1.0}, 50}), "no difference shown (1.00-1.00)");
  EXPECT_EQ(verdict({1.004, {1.002, 1.006}, 50}), "1.004x faster (1.002-1.006)");
}

// Ten rounds slow for the first, ten for the second: two observations, not twenty.
TEST(Ratio, RoundsThatResembleTheirNeighboursCountForLess) {
  std::vector<double> base(20, 100), candidate(20, 100);
  for (int round = 0; round < 10; ++round)
    base[static_cast<size_t>(round)] = 110, candidate[static_cast<size_t>(round) + 10] = 105;
  const Ratio r = speed_ratio(summarise("a", base, 0.01), summarise("b", candidate, 0.01));
  EXPECT_FALSE(r.difference_shown());
  EXPECT_NE(verdict(r).find("no difference shown"), std::string::npos);
}

TEST(Verdict, FiveRoundsShowNothing) {
  const Ratio r = speed_ratio(summarise("a", {2, 2, 2, 2, 2}, 0.01), summarise("b", {1, 1, 1, 1, 1}, 0.01));
  EXPECT_FALSE(r.difference_shown());
  EXPECT_EQ(verdict(r), "no difference shown (5 rounds; 6 are the fewest that give a 95 % interval)");
}

// Two equal candidates on a noisy machine: a difference is claimed in about 5 % of the runs. 3 % of difference is
// always found.
TEST(Verdict, ClaimsADifferenceBetweenEqualsRarelyAndFindsThreePercent) {
  int false_claims = 0, found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FakeMachine machine;
    machine.rng = Philox(seed);
    TimingOptions options = machine.options();
    options.seed = seed;
    const TimedCall three[] = {machine.taking("a", kMs, 0.03), machine.taking("a again", kMs, 0.03),
                               machine.taking("3 % slower", 1.03 * kMs, 0.03)};
    const std::vector<Timing> t = interleave(three, options);
    false_claims += speed_ratio(t[0], t[1]).difference_shown();
    found += verdict(speed_ratio(t[0], t[2])).find("slower") != std::string::npos;
  }
  EXPECT_LE(false_claims, 20);  // 10 expected, standard deviation 3.1
  EXPECT_GE(found, 190);
}

}  // namespace
}  // namespace hone
