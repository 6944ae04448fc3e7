// The value of a metric with its uncertainty, and the difference of two models on the same samples.
//
// Samples are what is drawn from the world: tokens of one text are not independent, so intervals go by samples. A share
// that has one row a sample gets Wilson's interval; everything else that of the percentile bootstrap (Efron and
// Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13): samples are drawn anew, as many, with
// replacement.
#pragma once

#include <cstdint>
#include <optional>

#include "measure/metric.h"
#include "measure/statistics.h"

namespace hone {

// The 25th smallest and largest of them bound the interval: enough that its ends repeat to a tenth of its width.
constexpr int kResamples = 1000;
// With fewer samples the bootstrap is far too sure of itself, since it sees no value beyond those: no interval.
constexpr int64_t kFewestForBootstrap = 10;

struct Estimate {
  double value = 0;
  std::optional<Interval> ci95;
  int64_t samples = 0, counted = 0;
};
Estimate estimate(const Metric& metric, const Evidence& evidence, uint64_t seed = 1);

// That of `other` less that of `base`. The same samples are drawn of both, so that what makes a sample hard for both
// cancels. Throws Error when they are not of equally many.
struct Difference {
  double value = 0;
  std::optional<Interval> ci95;
  bool shown() const { return ci95 && !ci95->contains(0); }
};
Difference difference(const Metric& metric, const Evidence& base, const Evidence& other, uint64_t seed = 1);

// How much worse `other` is: above 0 when it is worse, whichever direction is better.
inline double drop(const Metric& metric, const Difference& d) {
  return metric.def->larger_is_better ? -d.value : d.value;
}

}  // namespace hone
