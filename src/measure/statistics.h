// Order statistics of samples. Nothing here assumes a distribution: times on a shared machine have long tails and more
// than one mode.
#pragma once

#include <span>
#include <vector>

namespace hone {

struct Interval {
  double low = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
};

// The q-quantile (0..1) of samples, linear between neighbours. Bug when there are none.
double quantile(std::span<const double> samples, double q);
double median(std::span<const double> samples);

// Median of the distances from the median, unscaled.
double median_absolute_deviation(std::span<const double> samples);

// Fewest samples from which a 95 % interval of the median exists: 1 - 2 * 2^-n >= 0.95.
constexpr int kFewestForInterval = 6;

// 95 % interval of the median between two order statistics (the inverted sign test): exact for any distribution of
// independent samples. With fewer than kFewestForInterval samples there is no such interval and the answer is (-inf,
// inf).
Interval median_interval(std::span<const double> samples);

// The same for samples in order of time that may resemble their neighbours: as wide as it would be for the number of
// independent samples that they are worth, n / (1 + 2 sum of the autocorrelations of their signs about the median),
// with falling weights up to lag n^(1/3) + 1 (Bartlett) and never more than n.
Interval median_interval_of_series(std::span<const double> series);

// 95 % interval of a mean by Student's t, for samples that are independent; (-inf, inf) with fewer than two.
Interval mean_interval(std::span<const double> samples);

// Wilson's 95 % interval of a share that was seen in n >= 1 independent trials. Bug when the share is not of 0 ... 1.
Interval share_interval(double share, double n);

// Spearman's rank correlation of pairs, equal values sharing their mean rank: 1 when one grows with the other, 0 when
// either is constant. Bug when the lengths differ.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace hone
