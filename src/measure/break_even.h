// After how many runs a preparation (compiling, packing) has paid for itself.
#pragma once

#include <cstdint>
#include <optional>

namespace hone {

// What one way of running costs, in seconds.
struct RunCost {
  double compile = 0, prepack = 0;
  double first = 0;                   // the first run
  double steady = 0;                  // each further run
  double total(int64_t runs) const {  // runs >= 1
    return compile + prepack + first + static_cast<double>(runs - 1) * steady;
  }
};

struct BreakEven {
  RunCost base, candidate;
  std::optional<int64_t> runs;            // fewest runs after which the candidate has cost no more in all; none: never
  std::optional<double> seconds() const;  // what those runs cost in all
};

// Against a base without preparation: N* = ceil((compile + prepack + first - steady) / (base.steady - steady)), at
// least 1.
BreakEven break_even(const RunCost& base, const RunCost& candidate);

}  // namespace hone
