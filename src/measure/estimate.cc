#include "measure/estimate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

bool is_by_sample(const Evidence& evidence) {
  return std::all_of(evidence.rows.begin(), evidence.rows.end(), [](const Evidence::Row& r) { return r.b <= 1; }) &&
         static_cast<int64_t>(evidence.rows.size()) <= evidence.samples;
}

// How often each sample is drawn.
std::vector<double> drawn(int64_t samples, uint64_t seed, uint64_t resample) {
  Philox rng(seed, resample);
  std::vector<double> times(static_cast<size_t>(samples));
  for (int64_t i = 0; i < samples; ++i) ++times[rng.below(static_cast<uint32_t>(samples))];
  return times;
}

// Of what `value(weights)` is under resampling; none when one of them is not a number.
template <class F>
std::optional<Interval> bootstrap(int64_t samples, uint64_t seed, F value) {
  if (samples < kFewestForBootstrap) return std::nullopt;
  std::vector<double> values;
  for (int r = 0; r < kResamples; ++r) {
    values.push_back(value(drawn(samples, seed, static_cast<uint64_t>(r))));
    if (!std::isfinite(values.back())) return std::nullopt;
  }
  return Interval{quantile(values, 0.025), quantile(values, 0.975)};
}

std::vector<double> ones(const Evidence& evidence) {
  return std::vector<double>(static_cast<size_t>(evidence.samples), 1.0);
}

void require_few(const Evidence& evidence) {
  if (evidence.samples > UINT32_MAX) fail("{} samples; at most {} are resampled", evidence.samples, UINT32_MAX);
}

}  // namespace

Estimate estimate(const Metric& metric, const Evidence& evidence, uint64_t seed) {
  require_few(evidence);
  Estimate result{
      .value = metric.def->value(evidence, ones(evidence)), .samples = evidence.samples, .counted = evidence.counted};
  if (!std::isfinite(result.value)) return result;
  if (metric.def->is_share && is_by_sample(evidence))
    result.ci95 = share_interval(std::clamp(result.value, 0.0, 1.0), static_cast<double>(evidence.counted));
  else
    result.ci95 = bootstrap(evidence.samples, seed,
                            [&](const std::vector<double>& weights) { return metric.def->value(evidence, weights); });
  return result;
}

Difference difference(const Metric& metric, const Evidence& base, const Evidence& other, uint64_t seed) {
  require_few(base);
  if (base.samples != other.samples)
    fail("{} and {} samples: only what was measured on the same ones is compared", base.samples, other.samples);
  const auto value = [&](const std::vector<double>& weights) {
    return metric.def->value(other, weights) - metric.def->value(base, weights);
  };
  Difference result{.value = value(ones(base))};
  if (std::isfinite(result.value)) result.ci95 = bootstrap(base.samples, seed, value);
  return result;
}

}  // namespace hone
