#include "study/samplers/choice_solver.h"

#include <algorithm>

#include "base/error.h"

namespace hone {

ChoiceSolver::ChoiceSolver(ChoiceTable table) : table_(std::move(table)) {
  if (table_.parameters.empty() || table_.parameters.size() != table_.items.size())
    fail("there are no choices to solve for");
  least_ = cheapest(table_.items).cost;
  for (const std::vector<Choice>& item : table_.items) most_ += std::ranges::max(item, {}, &Choice::cost).cost;
  if (!table_.budget) return;
  if (least_ > *table_.budget)
    fail("no choice keeps the budget of {:g}; the least that can be reached is {:g}", *table_.budget, least_);
  most_ = std::min(most_, *table_.budget);
}

Solution ChoiceSolver::solve(double share, std::span<const double> factors) const {
  std::vector<std::vector<Choice>> items = table_.items;
  for (size_t i = 0; i < factors.size(); ++i)
    for (Choice& choice : items[i]) choice.loss *= factors[i];
  constexpr double kRounding = 1e-12;  // the cheapest choice is one of cost least_, in whatever order it is summed
  const double spend = least_ + std::clamp(share, 0.0, 1.0) * (most_ - least_);
  const std::optional<Solution> solved = solve_knapsack(items, spend * (1 + kRounding));
  return select(table_.items, solved ? solved->chosen : cheapest(items).chosen);
}

std::vector<TrialParameter> ChoiceSolver::parameters(const Solution& selection, const Space* space) const {
  std::vector<TrialParameter> chosen;
  for (size_t i = 0; i < table_.parameters.size(); ++i) {
    const SpaceParameter* p = space ? space->find(table_.parameters[i]) : nullptr;
    if (!p || !p->distribution.is_category() || p->distribution.choices.size() != table_.items[i].size())
      fail("parameter {} is not what its choices were measured for; the space has changed", table_.parameters[i]);
    chosen.push_back(
        {p->name, static_cast<double>(selection.chosen[i]), std::make_shared<const Distribution>(p->distribution)});
  }
  return chosen;
}

void refuse_without_table(const char* sampler) {
  fail(
      "sampler {} solves for what choices were measured to lose, and was given nothing; hone search measures formats "
      "of "
      "weights for it",
      sampler);
}

}  // namespace hone
