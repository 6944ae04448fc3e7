// Choices of least expected loss within a budget, for the samplers that solve for them.
#pragma once

#include <span>
#include <vector>

#include "study/sampler.h"

namespace hone {

class ChoiceSolver {
 public:
  ChoiceSolver() = default;
  // Throws Error when the table is empty, or nothing keeps its budget.
  explicit ChoiceSolver(ChoiceTable table);

  bool has_table() const { return !table_.parameters.empty(); }
  bool has_budget() const { return table_.budget.has_value(); }
  size_t size() const { return table_.parameters.size(); }

  // With each item's losses times its factor; `share` of what can be spent above the cheapest choice: 1 is all of the
  // budget, or of the dearest choice. Never more than the budget.
  Solution solve(double share, std::span<const double> factors = {}) const;

  // As parameters of a trial. Throws Error where the space has another parameter of that name, or none.
  std::vector<TrialParameter> parameters(const Solution& selection, const Space* space) const;

 private:
  ChoiceTable table_;
  double least_ = 0, most_ = 0;
};

[[noreturn]] void refuse_without_table(const char* sampler);

}  // namespace hone
