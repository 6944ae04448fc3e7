#include "measure/timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

// Caches and branch predictors need several rounds to get used to the company.
constexpr size_t kFewestWarmUps = 10;

class Interleaver {
 public:
  Interleaver(std::span<const TimedCall> candidates, const TimingOptions& options)
      : candidates_(candidates),
        options_(options),
        clock_(options.clock_ns ? options.clock_ns : steady_ns),
        order_rng_(options.seed),
        samples_(candidates.size()),
        calls_(candidates.size(), 1),
        warmup_calls_(candidates.size()) {}

  std::vector<Timing> run() {
    warm_up();
    const int64_t start = clock_();
    for (int round = 0; round < options_.max_rounds; ++round) {
      if (round > 0 && seconds_since(start) >= options_.max_seconds) break;
      measure_round();
      // The interval costs a sort of everything, so it is looked at after every tenth round only.
      if (round + 1 >= options_.min_rounds && (round + 1 - options_.min_rounds) % 10 == 0 && all_quiet()) break;
    }
    return summaries();
  }

 private:
  double seconds_since(int64_t start) const { return static_cast<double>(clock_() - start) * 1e-9; }

  double time_once(size_t i) {
    const int64_t start = clock_();
    for (int call = 0; call < calls_[i]; ++call) candidates_[i].run();
    return static_cast<double>(clock_() - start) / calls_[i];
  }

  // Rounds as they will be measured, so that no candidate has just been warmed up when they begin, until the last three
  // times of each are no longer faster than the three before by more than 5 %.
  void warm_up() {
    std::vector<std::vector<double>> times(candidates_.size());
    const int64_t start = clock_();
    do {
      for (size_t i : shuffled()) times[i].push_back(time_once(i));
    } while (!std::all_of(times.begin(), times.end(), stable) && seconds_since(start) < options_.max_warmup_seconds);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      warmup_calls_[i] = static_cast<int>(times[i].size());
      const size_t recent = std::min<size_t>(times[i].size(), 3);
      const double typical = std::max(1.0, median(std::span(times[i]).last(recent)));
      calls_[i] = static_cast<int>(std::clamp(std::ceil(options_.min_sample_ns / typical), 1.0, 1e6));
    }
  }

  static bool stable(std::span<const double> times) {
    if (times.size() < kFewestWarmUps) return false;
    return median(times.last(3)) >= 0.95 * median(times.last(6).first(3));
  }

  std::vector<size_t> shuffled() {
    std::vector<size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[order_rng_.below(static_cast<uint32_t>(i))]);
    return order;
  }

  void measure_round() {
    for (size_t i : shuffled()) samples_[i].push_back(time_once(i));
  }

  bool all_quiet() const {
    return std::all_of(samples_.begin(), samples_.end(),
                       [&](const auto& s) { return summarise("", s, options_.target).noise_target_met; });
  }

  std::vector<Timing> summaries() {
    std::vector<Timing> timings;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      timings.push_back(summarise(candidates_[i].name, std::move(samples_[i]), options_.target));
      timings.back().calls_per_sample = calls_[i];
      timings.back().warmup_calls = warmup_calls_[i];
    }
    return timings;
  }

  std::span<const TimedCall> candidates_;
  const TimingOptions& options_;
  std::function<int64_t()> clock_;
  Philox order_rng_;
  std::vector<std::vector<double>> samples_;
  std::vector<int> calls_, warmup_calls_;
};

}  // namespace

std::vector<Timing> interleave(std::span<const TimedCall> candidates, const TimingOptions& options) {
  CHECK(options.max_rounds >= 1 && options.min_rounds >= 1);
  return Interleaver(candidates, options).run();
}

Timing joined(std::span<const Timing> placements, double target) {
  CHECK(!placements.empty());
  std::vector<double> samples;
  std::vector<size_t> ends;
  for (const Timing& t : placements) {
    samples.insert(samples.end(), t.samples_ns.begin(), t.samples_ns.end());
    ends.push_back(samples.size());
  }
  Timing whole = summarise(placements[0].name, std::move(samples), target);
  whole.placement_ends = std::move(ends);
  whole.calls_per_sample = placements[0].calls_per_sample;
  for (const Timing& t : placements) whole.warmup_calls += t.warmup_calls;
  return whole;
}

Timing summarise(std::string name, std::vector<double> samples_ns, double target) {
  CHECK(!samples_ns.empty());
  Timing t;
  t.name = std::move(name);
  t.min = quantile(samples_ns, 0), t.max = quantile(samples_ns, 1);
  t.p50 = median(samples_ns), t.p90 = quantile(samples_ns, 0.9), t.p99 = quantile(samples_ns, 0.99);
  t.mean = std::accumulate(samples_ns.begin(), samples_ns.end(), 0.0) / static_cast<double>(samples_ns.size());
  t.mad = median_absolute_deviation(samples_ns);
  t.median_ci95 = median_interval(samples_ns);
  t.noise_target_met = (t.median_ci95.high - t.median_ci95.low) / 2 <= target * t.p50;
  t.samples_ns = std::move(samples_ns);
  return t;
}

}  // namespace hone
