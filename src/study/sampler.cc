#include "study/sampler.h"

#include <algorithm>
#include <cmath>

namespace hone {

// Steps get equal shares: the range is widened by half a step at both ends, as in Optuna.
double value_at_quantile(const Distribution& d, double u) {
  const auto count = static_cast<double>(d.size());
  if (d.is_category()) return std::min(std::floor(u * count), count - 1);
  const double half = d.step / 2;
  if (d.log) {
    const double low = std::log(d.low - half), high = std::log(d.high + half);
    const double value = std::exp(low + u * (high - low));
    return std::clamp(d.step == 0 ? value : std::round(value), d.low, d.high);
  }
  if (d.step != 0) return d.value_at(static_cast<int64_t>(std::min(std::floor(u * count), count - 1)));
  return std::clamp(d.low + u * (d.high - d.low), d.low, d.high);
}

double uniform_value(const Distribution& d, Philox& rng) { return value_at_quantile(d, rng.uniform()); }

}  // namespace hone
