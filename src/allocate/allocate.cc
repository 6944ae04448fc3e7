#include "allocate/allocate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/philox.h"

namespace hone {
namespace {

using Items = std::vector<std::vector<Choice>>;

class Search {
 public:
  Search(std::span<const std::vector<Choice>> items, const AllocateOptions& options)
      : items_(items), options_(options), factors_(items.size(), 0.0), rng_(options.seed) {}

  // The choice's score; it is measured once.
  double score(const std::vector<int>& chosen, const std::string& origin) {
    const auto [known, is_new] = scores_.emplace(chosen, 0);
    if (!is_new) return known->second;
    const Solution selection = select(items_, chosen);
    known->second = options_.score(chosen);
    found_.trials.push_back({chosen, selection.cost, selection.loss, known->second, origin});
    if (options_.told) options_.told(found_.trials.back());
    if (known->second < found_.trials[found_.best].score) found_.best = found_.trials.size() - 1;
    return known->second;
  }

  // From the solution on, whose score is given.
  void refine(double parent) {
    for (int trial = 0; trial < options_.trials; ++trial) {
      const std::optional<Mutant> mutant = unknown_mutant();
      if (!mutant) return;
      const double reached = score(mutant->chosen, "refined");
      if (reached < parent) parent = reached, factors_ = mutant->factors;
    }
  }

  Allocation result() { return std::move(found_); }

 private:
  static constexpr int kAttempts = 40;
  static constexpr double kShare = 0.15;  // of the items that a trial changes
  static constexpr double kLargest = 60;  // factor: losses stay finite

  struct Mutant {
    std::vector<double> factors;
    std::vector<int> chosen;
  };

  // Wider steps as long as they lead to choices that have been measured.
  std::optional<Mutant> unknown_mutant() {
    double width = 0.5;
    for (int attempt = 0; attempt < kAttempts; ++attempt, width *= 1.2) {
      Mutant mutant{mutated(width), {}};
      mutant.chosen = solve_knapsack(scaled(mutant.factors), options_.budget)->chosen;
      if (!scores_.contains(mutant.chosen)) return mutant;
    }
    return std::nullopt;
  }

  std::vector<double> mutated(double width) {
    std::vector<double> factors = factors_;
    factors[rng_.below(static_cast<uint32_t>(factors.size()))] += width * static_cast<double>(rng_.normal());
    for (double& factor : factors)
      if (rng_.uniform() < kShare) factor += width * static_cast<double>(rng_.normal());
    for (double& factor : factors) factor = std::clamp(factor, -kLargest, kLargest);
    return factors;
  }

  Items scaled(const std::vector<double>& factors) const {
    Items items(items_.begin(), items_.end());
    for (size_t i = 0; i < items.size(); ++i)
      for (Choice& choice : items[i]) choice.loss *= std::exp(factors[i]);
    return items;
  }

  std::span<const std::vector<Choice>> items_;
  const AllocateOptions& options_;
  std::vector<double> factors_;  // logarithms
  Philox rng_;
  std::map<std::vector<int>, double> scores_;
  Allocation found_;
};

}  // namespace

Allocation allocate(std::span<const std::vector<Choice>> items, std::span<const std::string> choices,
                    const AllocateOptions& options) {
  const std::optional<Solution> solved = solve_knapsack(items, options.budget);
  if (!solved)
    fail("no choice of formats meets the budget of {:g}; the least that can be reached is {:g}", options.budget,
         cheapest(items).cost);
  Search search(items, options);
  // Uniform choices come first: at a tie the simpler one is kept.
  for (size_t c = 0; c < choices.size(); ++c) {
    const std::vector<int> uniform(items.size(), static_cast<int>(c));
    if (select(items, uniform).cost <= options.budget) search.score(uniform, "uniform " + choices[c]);
  }
  search.refine(search.score(solved->chosen, "solved"));
  Allocation allocation = search.result();
  allocation.is_uniform = allocation.trials[allocation.best].origin.starts_with("uniform");
  return allocation;
}

}  // namespace hone
