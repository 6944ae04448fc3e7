// After how many runs a preparation (compiling, packing) has paid for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "measure/ratio.h"

namespace hone {

// What one way of running costs, in seconds.
struct RunCost {
  double compile = 0, prepack = 0;
  double first = 0;   // the first run
  double steady = 0;  // each further run
  double once() const { return compile + prepack + first - steady; }
  double total(int64_t runs) const {  // runs >= 1
    return once() + static_cast<double>(runs) * steady;
  }
};

RunCost typical(std::span<const RunCost> costs);  // the median of each part; at least one

// Several set-ups of one way of running, taken in turn with those of the ways it is compared with.
using SetUps = std::vector<RunCost>;

struct BreakEven {
  int64_t runs = 1;              // fewest after which the candidate has cost no more in all
  std::optional<Interval> ci95;  // of `runs`; none with fewer than kFewestForInterval set-ups
  double seconds = 0;            // what those runs cost in all
};

// Only where `ratio`, of the steady runs, shows that the candidate is faster: otherwise there is nothing that could
// pay.
//   N = ceil(d / g), at least 1: d is what the candidate's set-up costs more, g what a run gains by the ratio
// from the typical costs; the interval from the set-ups in pairs and the ratio's interval.
std::optional<BreakEven> break_even(const SetUps& base, const SetUps& candidate, const Ratio& ratio);

}  // namespace hone
