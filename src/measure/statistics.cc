#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

double quantile_of_sorted(const std::vector<double>& samples, double q) {
  const double position = q * static_cast<double>(samples.size() - 1);
  const size_t below = static_cast<size_t>(position);
  if (below + 1 >= samples.size()) return samples.back();
  return std::lerp(samples[below], samples[below + 1], position - static_cast<double>(below));
}

// The largest k with P(Binomial(n, 1/2) < k) <= 0.025: the interval runs from the k-th smallest to the k-th largest
// sample.
int rank_of_interval(int n) {
  double below = 0;
  for (int k = 0; k < n; ++k) {
    const double log_term = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0);
    below += std::exp(log_term);
    if (below > 0.025) return k;
  }
  return 0;
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  CHECK(!samples.empty() && q >= 0 && q <= 1);
  return quantile_of_sorted(sorted(samples), q);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double median_absolute_deviation(std::span<const double> samples) {
  const double centre = median(samples);
  std::vector<double> distances;
  for (double s : samples) distances.push_back(std::abs(s - centre));
  return median(distances);
}

Interval median_interval(std::span<const double> samples) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int n = static_cast<int>(samples.size());
  if (n < kFewestForInterval) return {-infinity, infinity};
  const std::vector<double> order = sorted(samples);
  const size_t k = static_cast<size_t>(rank_of_interval(n));
  return {order[k - 1], order[order.size() - k]};
}

}  // namespace hone
