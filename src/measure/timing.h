// Times several candidates against each other in one run. Each round calls every candidate once, in a fresh random
// order, so that drift of the machine (clock, neighbours) falls on all alike and rounds can be compared pair by pair
// (ratio.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "measure/statistics.h"

namespace hone {

struct TimedCall {
  std::string name;
  std::function<void()> run;
};

struct TimingOptions {
  double target = 0.01;  // half-width of the median's 95 % interval, relative to the median
  int min_rounds = 30, max_rounds = 2000;
  double max_seconds = 20;        // of the measured part; a round that has begun is finished
  double max_warmup_seconds = 5;  // warm-up ends earlier, once it is stable
  double min_sample_ns = 50'000;  // a quicker candidate is called several times per sample: the clock costs about 30 ns
  uint64_t seed = 1;              // of the order within rounds
  std::function<int64_t()> clock_ns;  // empty: the system's monotonic clock
};

// Nanoseconds per call. Outliers are kept: they are what a user of this machine would see.
struct Timing {
  std::string name;
  std::vector<double> samples_ns;  // in order of rounds; sample i of all candidates belongs to round i
  int calls_per_sample = 1, warmup_calls = 0;
  double min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0, mean = 0, mad = 0;
  std::vector<size_t> placement_ends;  // of joined(): how many samples there are up to the end of each placement
  Interval median_ci95;                // infinite below kFewestForInterval rounds
  bool noise_target_met = false;
  int n() const { return static_cast<int>(samples_ns.size()); }
};

// One Timing per candidate, in their order. An exception of a candidate ends the measurement and is passed on.
std::vector<Timing> interleave(std::span<const TimedCall> candidates, const TimingOptions& options = {});

// One candidate's timings, each with everything set up anew (ratio.h says why), as one.
Timing joined(std::span<const Timing> placements, double target);

// The figures of a Timing from its samples (at least one) and the noise target.
Timing summarise(std::string name, std::vector<double> samples_ns, double target);

}  // namespace hone
