// Multiple-choice knapsack: one choice for each item, of least total loss within a budget.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace hone {

struct Choice {
  double cost = 0, loss = 0;  // cost ≥ 0; both finite
};

struct Solution {
  std::vector<int> chosen;  // of each item, an index into its choices
  double cost = 0, loss = 0;
};

Solution select(std::span<const std::vector<Choice>> items, std::span<const int> chosen);  // with the sums of these

// Exact: no selection within the budget has a smaller loss. None when even the cheapest one is above the budget. Items
// without choices are not allowed.
std::optional<Solution> solve_knapsack(std::span<const std::vector<Choice>> items, double budget);

// The cheapest selection, of least loss among equals.
Solution cheapest(std::span<const std::vector<Choice>> items);

}  // namespace hone
