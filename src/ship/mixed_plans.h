// A format for each tensor, so that a file has a size and its outputs are nearest to the original's: solved on what
// each tensor alone does to the outputs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocate/measurements.h"
#include "allocate/sensitivity.h"
#include "ship/maker.h"
#include "ship/recipe.h"
#include "study/knapsack.h"

namespace hone {

class MixedPlans {
 public:
  // Packs the model in each format by the recipe's method and measures each tensor, on what there is to learn from.
  // `told` is called before each step; what it throws ends the work.
  MixedPlans(const Maker& maker, const std::vector<std::string>& formats, const Recipe& base,
             const SessionOptions& session, Measurements& known, const std::function<void(const std::string&)>& told);

  // Of a whole file of so many bytes, of which `beside` hold no weights. None where even the smallest is larger.
  std::optional<Recipe> within(double bytes, double beside) const;
  int64_t stored_bytes(int format) const { return candidates_.stored_bytes(candidates_.uniform(format)); }

 private:
  const Recipe base_;
  Candidates candidates_;
  std::vector<std::vector<Choice>> items_;
};

}  // namespace hone
