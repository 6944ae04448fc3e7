#include "measure/ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

// Enough digits that a bound next to 1 does not print as 1.
int digits_for(double bound) {
  int digits = 2;
  for (double step = 0.01; digits < 6 && std::abs(bound - 1) < step; step /= 10) ++digits;
  return digits;
}

std::string sentence(double value, double low, double high, const char* word) {
  const int digits = digits_for(low);
  return fmt::format("{:.{}f}x {} ({:.{}f}-{:.{}f})", value, digits, word, low, digits, high, digits);
}

}  // namespace

Ratio speed_ratio(const Timing& base, const Timing& candidate) {
  CHECK(base.placement_ends == candidate.placement_ends);
  CHECK(base.n() == candidate.n(), "{} rounds against {}: not of one run", base.n(), candidate.n());
  std::vector<double> ratios;
  for (size_t i = 0; i < base.samples_ns.size(); ++i)
    ratios.push_back(std::max(base.samples_ns[i], 1e-3) / std::max(candidate.samples_ns[i], 1e-3));
  if (base.placement_ends.size() < kFewestForInterval)
    return {median(ratios), median_interval_of_series(ratios), base.n()};
  std::vector<double> by_placement;
  for (size_t begin = 0; size_t end : base.placement_ends) {
    by_placement.push_back(median(std::span(ratios).subspan(begin, end - begin)));
    begin = end;
  }
  return {median(by_placement), median_interval(by_placement), base.n()};
}

std::string verdict(const Ratio& ratio) {
  if (ratio.rounds < kFewestForInterval)
    return fmt::format("no difference shown ({} rounds; {} are the fewest that give a 95 % interval)", ratio.rounds,
                       kFewestForInterval);
  if (!std::isfinite(ratio.ci95.low))
    return fmt::format("no difference shown ({} rounds so alike that they are worth fewer than {})", ratio.rounds,
                       kFewestForInterval);
  if (!ratio.difference_shown())
    return fmt::format("no difference shown ({:.2f}-{:.2f})", ratio.ci95.low, ratio.ci95.high);
  if (ratio.value > 1) return sentence(ratio.value, ratio.ci95.low, ratio.ci95.high, "faster");
  return sentence(1 / ratio.value, 1 / ratio.ci95.high, 1 / ratio.ci95.low, "slower");
}

}  // namespace hone
