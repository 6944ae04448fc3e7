#include "measure/break_even.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

constexpr double kMostRuns = 1e15;

// What a run gains, where `ratio` is the base's time over the candidate's.
double gain(double base_steady, double ratio) { return base_steady * (1 - 1 / ratio); }

int64_t runs_for(double extra, double gain) {
  return static_cast<int64_t>(std::clamp(std::ceil(extra / gain), 1.0, kMostRuns));
}

double typical_part(std::span<const RunCost> costs, double RunCost::*part) {
  std::vector<double> values;
  for (const RunCost& c : costs) values.push_back(c.*part);
  return median(values);
}

}  // namespace

RunCost typical(std::span<const RunCost> costs) {
  return {.compile = typical_part(costs, &RunCost::compile),
          .prepack = typical_part(costs, &RunCost::prepack),
          .first = typical_part(costs, &RunCost::first),
          .steady = typical_part(costs, &RunCost::steady)};
}

std::optional<BreakEven> break_even(const SetUps& base, const SetUps& candidate, const Ratio& ratio) {
  CHECK(base.size() == candidate.size());
  if (base.empty() || !ratio.difference_shown() || ratio.value <= 1) return std::nullopt;
  const RunCost from = typical(base), to = typical(candidate);
  BreakEven even{.runs = runs_for(to.once() - from.once(), gain(from.steady, ratio.value))};
  even.seconds = to.total(even.runs);
  std::vector<double> extra;
  for (size_t i = 0; i < base.size(); ++i) extra.push_back(candidate[i].once() - base[i].once());
  if (const Interval d = median_interval(extra); std::isfinite(d.low))
    even.ci95 = Interval{std::min(static_cast<double>(even.runs),
                                  static_cast<double>(runs_for(d.low, gain(from.steady, ratio.ci95.high)))),
                         std::max(static_cast<double>(even.runs),
                                  static_cast<double>(runs_for(d.high, gain(from.steady, ratio.ci95.low))))};
  return even;
}

}  // namespace hone
