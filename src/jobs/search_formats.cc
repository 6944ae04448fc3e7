#include "jobs/search_formats.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "calibrate/collect.h"

namespace hone {
namespace {

constexpr size_t kFrontPoints = 12;
constexpr size_t kSubstitutionShare = 8;  // substitutions are measured on this part of the data
constexpr int kRounds = 4;                // of measuring what the solution rests on
constexpr double kWorst = 1e30;           // in place of an infinite error: outputs that are not finite

void check(const AllocateFormatsOptions& options) {
  if (options.formats.empty()) fail("no formats to choose from; give --formats, e.g. mxint4,mxint6,mxint8");
  if (options.budget.has_value() == options.lambda.has_value())
    fail("give either a budget (--budget avg-bits=4.5) or a price of bits (--lambda 0.01)");
  const QuantizeOptions& q = options.quantize;
  if (q.equalise_layers || q.smooth_quant || q.awq_scaling || q.rotate_hadamard || q.bias_correction)
    fail(
        "passes that rewrite the model for a choice of formats come after the choice: give them to quantize or "
        "squeeze, beside --config {}",
        options.output);
  if (!q.to.empty()) fail("--to {}: the format of each weight is what is chosen; name candidates in --formats", q.to);
}

class FormatSearch {
 public:
  FormatSearch(const AllocateFormatsOptions& options, FormatStudy& study)
      : options_(options), study_(study), found_{study} {}

  FoundFormats run() {
    const auto start = std::chrono::steady_clock::now();
    tell(options_.progress, "gathering statistics of the layers' inputs");
    found_.candidates = make_candidates(study_.graph, options_.formats, options_.quantize, quantiser(),
                                        [&](const std::string& f) { tell(options_.progress, "packing in " + f); });
    set_costs();
    if (options_.budget) check_budget();  // before anything that takes long
    measure_sensitivities();
    if (options_.lambda) choose_by_price();
    else choose_within(budget_cost(*options_.budget));
    if (options_.front) trace_front();
    found_.seconds = milliseconds_since(start) / 1000;
    return std::move(found_);
  }

 private:
  Statistics statistics(const CalibrationData& data) const {
    return collect_statistics(study_.graph, data.batches, {.session = study_.session});
  }

  Quantise quantiser() const {
    StatisticsSource learnt;
    if (calibrates(options_.quantize))
      learnt = [all = statistics(study_.data.for_methods())](const Graph&, bool) { return all; };
    return [this, learnt](const Graph& graph, const QuantizeOptions& options) {
      return quantise(graph, options, learnt, {.packer = &study_.packer});
    };
  }

  SensitivityOptions sensitivity_options() const {
    return {.measure_all = options_.measure_all,
            .batches = std::max<size_t>(1, study_.data.measured.batches.size() / kSubstitutionShare),
            .session = study_.session,
            .told = [&](size_t done, size_t of) {
              tell(options_.progress, fmt::format("sensitivity of tensor {} of {}", done + 1, of));
            }};
  }

  void measure_sensitivities() {
    found_.sensitivities = measure_sensitivity(found_.candidates, statistics(study_.data.measured), study_.measure(),
                                               study_.known, sensitivity_options());
    set_losses();
  }

  void set_losses() {
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < found_.candidates.formats.size(); ++f)
        items_[t][f].loss = std::min(found_.sensitivities[t].loss(f), kWorst);
  }

  // Costs of the candidates and of the rest: bytes, or milliseconds when the budget is one of time.
  void set_costs() {
    items_.resize(found_.candidates.tensors.size());
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < found_.candidates.formats.size(); ++f)
        items_[t].push_back({static_cast<double>(found_.candidates.tensors[t].bytes[f]), 0});
    found_.fixed_cost = static_cast<double>(found_.candidates.other_bytes);
    if (!options_.budget || options_.budget->kind != Budget::Kind::latency) return;
    tell(options_.progress, "timing every format");
    found_.times = time_formats(found_.candidates, study_.graph, study_.data.measured.first_sample, options_.session,
                                options_.seconds, options_.seed);
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < found_.candidates.formats.size(); ++f) items_[t][f].cost = found_.times->tensor_ms[t][f];
    found_.fixed_cost = found_.times->rest_ms;
  }

  double budget_cost(const Budget& budget) const {
    switch (budget.kind) {
      case Budget::Kind::average_bits:
        return budget.value * static_cast<double>(found_.candidates.elements) / 8 - found_.fixed_cost;
      case Budget::Kind::bytes:
        return budget.value - found_.fixed_cost;
      case Budget::Kind::latency:
        break;
    }
    return (budget.is_relative ? budget.value * found_.times->original_ms : budget.value) - found_.fixed_cost;
  }

  // In the budget's own unit, of all that the model needs.
  std::string cost_text(double cost) const {
    cost += found_.fixed_cost;
    if (options_.budget->kind == Budget::Kind::latency)
      return options_.budget->is_relative
                 ? fmt::format("{:.3f} of the original's time", cost / found_.times->original_ms)
                 : fmt::format("{:.3f} ms", cost);
    if (options_.budget->kind == Budget::Kind::bytes) return human_bytes(cost);
    return fmt::format("{:.3f} bits per element", 8 * cost / static_cast<double>(found_.candidates.elements));
  }

  // With labels the share of wrong rows, and the output error among equals.
  double loss_of(const OutputDistance& d) const {
    const double error = std::min(d.error, kWorst);
    return d.accuracy ? 1 - *d.accuracy + 1e-6 * std::min(error, 1.0) : error;
  }

  double priced(std::span<const int> chosen) {
    return loss_of(found_.distance(chosen)) + options_.lambda.value_or(0) * found_.candidates.average_bits(chosen);
  }

  AllocateOptions allocate_options(double budget, int trials) {
    return {
        .budget = budget,
        .trials = trials,
        .seed = options_.seed,
        .score = [&](std::span<const int> chosen) { return priced(chosen); },
        .told =
            [&](const Trial& trial) { tell(options_.progress, fmt::format("{}: {:.3g}", trial.origin, trial.score)); }};
  }

  void check_budget() const {
    const double least = cheapest(items_).cost;
    if (least > budget_cost(*options_.budget))
      fail("no choice of formats meets the budget of {}; the least with {} is {}", to_string(*options_.budget),
           fmt::join(found_.candidates.formats, ", "), cost_text(least));
  }

  // What a solution rests on is measured until it rests on measurements alone: it would choose what is estimated too
  // low.
  void choose_within(double budget) {
    for (int round = 0; round < kRounds; ++round) {
      const std::optional<Selection> solved = solve_knapsack(items_, budget);
      if (!solved || !measure_chosen(solved->chosen, found_.sensitivities, found_.candidates, study_.measure(),
                                     study_.known, sensitivity_options()))
        break;
      set_losses();
    }
    found_.allocation = allocate(items_, found_.candidates.formats, allocate_options(budget, options_.trials));
  }

  // Budgets between the cheapest choice and the dearest.
  std::vector<double> budgets() const {
    double dearest = 0;
    for (const std::vector<Choice>& choices : items_)
      dearest +=
          std::max_element(choices.begin(), choices.end(), [](auto& a, auto& b) { return a.cost < b.cost; })->cost;
    const double least = cheapest(items_).cost;
    std::vector<double> budgets;
    for (size_t i = 0; i < kFrontPoints; ++i)
      budgets.push_back(least + (dearest - least) * static_cast<double>(i) / (kFrontPoints - 1));
    return budgets;
  }

  void trace_front() {
    for (double budget : budgets()) {
      const std::optional<Selection> solved = solve_knapsack(items_, budget);
      if (!solved || (!found_.front.empty() && found_.front.back().chosen == solved->chosen)) continue;
      tell(options_.progress, fmt::format("front: {:.2f} bits", found_.candidates.average_bits(solved->chosen)));
      found_.front.push_back(
          {solved->chosen, solved->cost, solved->loss, loss_of(found_.distance(solved->chosen)), "front"});
    }
  }

  // The budget whose solution is best at the price, then refined within it.
  void choose_by_price() {
    double best = INFINITY, budget = 0;
    for (double b : budgets())
      if (const std::optional<Selection> solved = solve_knapsack(items_, b))
        if (const double score = priced(solved->chosen); score < best) best = score, budget = b;
    choose_within(budget);
  }

  const AllocateFormatsOptions& options_;
  FormatStudy& study_;
  FoundFormats found_;
  std::vector<std::vector<Choice>> items_;  // of the knapsack, by tensor, by format
};

}  // namespace

OutputDistance FoundFormats::distance(std::span<const int> choice) {
  return distance_of(study.known.get("whole\n" + candidates.text(choice), 2, [&] {
    const auto start = std::chrono::steady_clock::now();
    const OutputDistance d = study.measure()(candidates.with(choice));
    choice_seconds.push_back(milliseconds_since(start) / 1000);
    return values_of(d);
  }));
}

FoundFormats search_formats(const AllocateFormatsOptions& options, FormatStudy& study) {
  check(options);
  return FormatSearch(options, study).run();
}

}  // namespace hone
