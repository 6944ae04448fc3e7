#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

// -1, 0 or 1: below, at or above the median. Signs have no outliers.
std::vector<double> signs_about_median(std::span<const double> series) {
  const double centre = median(series);
  std::vector<double> signs;
  for (double x : series) signs.push_back(x > centre ? 1 : x < centre ? -1 : 0);
  return signs;
}

double independent_samples(std::span<const double> series) {
  const std::vector<double> signs = signs_about_median(series);
  const size_t n = signs.size(), lags = static_cast<size_t>(std::cbrt(static_cast<double>(n))) + 1;
  const double power = std::inner_product(signs.begin(), signs.end(), signs.begin(), 0.0);
  if (power == 0) return static_cast<double>(n);
  double inflation = 1;
  for (size_t lag = 1; lag <= lags && lag < n; ++lag) {
    const double weight = 1 - static_cast<double>(lag) / static_cast<double>(lags + 1);
    inflation += 2 * weight *
                 std::inner_product(signs.begin(), signs.end() - static_cast<std::ptrdiff_t>(lag),
                                    signs.begin() + static_cast<std::ptrdiff_t>(lag), 0.0) /
                 power;
  }
  return static_cast<double>(n) / std::max(1.0, inflation);
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

Interval median_interval_of_series(std::span<const double> series) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (static_cast<int>(series.size()) < kFewestForInterval) return {-infinity, infinity};
  const int worth = static_cast<int>(independent_samples(series));
  if (worth < kFewestForInterval) return {-infinity, infinity};
  // The rank among that many, as a share, among all.
  const double share = static_cast<double>(rank_of_interval(worth)) / worth;
  const std::vector<double> order = sorted(series);
  const auto k = std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(order.size())));
  return {order[k - 1], order[order.size() - k]};
}

namespace {

constexpr double kZ = 1.959964;  // 0.975-quantile of the normal distribution

// 0.975-quantile of Student's t: a table where the series in 1/degrees (Fisher and Cornish) is not yet good to 0.1 %.
double t_quantile(size_t degrees) {
  constexpr double kFew[] = {12.706, 4.303, 3.182, 2.776, 2.571};
  if (degrees <= std::size(kFew)) return kFew[degrees - 1];
  const double n = static_cast<double>(degrees), z2 = kZ * kZ;
  return kZ + kZ * (z2 + 1) / (4 * n) + kZ * ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
         kZ * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n);
}

}  // namespace

Interval mean_interval(std::span<const double> samples) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(samples.size());
  if (samples.size() < 2) return {-infinity, infinity};
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (double s : samples) squares += (s - mean) * (s - mean);
  const double half = t_quantile(samples.size() - 1) * std::sqrt(squares / (n * (n - 1)));
  return {mean - half, mean + half};
}

Interval share_interval(double share, double n) {
  CHECK(share >= 0 && share <= 1 && n >= 1, "a share of {} in {} trials", share, n);
  const double centre = (share + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n),
               half = kZ / (1 + kZ * kZ / n) * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return {std::min(share, centre - half), std::max(share, centre + half)};
}

namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  CHECK(a.size() == b.size());
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean), yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace hone
