#include "views/probe_rounds.h"

#include <cmath>

namespace hone {
namespace {

template <class T>
Cell median_of(const std::vector<ProbeResult>& results, T ProbeResult::*field) {
  if (results.empty()) return {};
  std::vector<double> values;
  for (const ProbeResult& r : results) values.push_back(static_cast<double>(r.*field));
  const Interval ci95 = median_interval(values);
  return std::isfinite(ci95.low) ? number(median(values), ci95) : number(median(values));
}

}  // namespace

Cell median_cell(const std::vector<ProbeResult>& results, double ProbeResult::*field) {
  return median_of(results, field);
}
Cell median_cell(const std::vector<ProbeResult>& results, int64_t ProbeResult::*field) {
  return median_of(results, field);
}

}  // namespace hone
