#include "measure/break_even.h"

#include <cmath>

namespace hone {

std::optional<double> BreakEven::seconds() const {
  if (!runs) return std::nullopt;
  return candidate.total(*runs);
}

BreakEven break_even(const RunCost& base, const RunCost& candidate) {
  BreakEven result{base, candidate, std::nullopt};
  if (candidate.total(1) <= base.total(1)) {
    result.runs = 1;
    return result;
  }
  const double gain = base.steady - candidate.steady;
  if (gain <= 0) return result;
  result.runs = 1 + static_cast<int64_t>(std::ceil((candidate.total(1) - base.total(1)) / gain));
  return result;
}

}  // namespace hone
