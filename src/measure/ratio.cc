#include "measure/ratio.h"

#include <algorithm>

#include "base/error.h"

namespace hone {

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

}  // namespace hone
