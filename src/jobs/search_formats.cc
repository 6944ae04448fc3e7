#include "jobs/search_formats.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/clock.h"
#include "base/text.h"
#include "calibrate/collect.h"
#include "jobs/max_drop.h"
#include "jobs/plan_files.h"

namespace hone {
namespace {

constexpr size_t kFrontPoints = 12;
constexpr size_t kSubstitutionShare = 4;  // substitutions are measured on this part of what selects
constexpr int kRounds = 4;                // of measuring what the solution rests on
constexpr double kWorst = 1e30;           // in place of an infinite error: outputs that are not finite
constexpr int kAttempts = 4;              // of choosing anew when what was written is beyond the budget
constexpr double kNearlyEqual = 1e-9;     // sums in another order round differently

void check(const AllocateFormatsOptions& options) {
  check_target(options.target);
  if (options.formats.empty()) fail("no formats to choose from; give --formats, e.g. mxint4,mxint6,mxint8");
  if (options.budget.has_value() == options.lambda.has_value())
    fail("give either a budget (--budget avg-bits=4.5) or a price of bits (--lambda 0.01)");
  const QuantizeOptions& q = options.quantize;
  if (q.equalise_layers || q.smooth_quant || q.awq_scaling || q.rotate_hadamard || q.bias_correction)
    fail(
        "passes that rewrite the model for a choice of formats come after the choice: give them to quantize or "
        "squeeze, beside the plan as --config");
  if (!q.to.empty()) fail("--to {}: the format of each weight is what is chosen; name candidates in --formats", q.to);
}

class FormatSearch {
 public:
  FormatSearch(const AllocateFormatsOptions& options, FormatStudy& study, const TaskContext& context)
      : options_(options), study_(study), context_(context), found_{study} {}

  FoundFormats run() {
    const auto start = std::chrono::steady_clock::now();
    context_.tell("gathering statistics of the layers' inputs");
    found_.candidates = make_candidates(study_.graph, options_.formats, options_.quantize, quantizer(),
                                        [&](const std::string& f) { context_.tell("packing in " + f); });
    files_.emplace(study_, found_.candidates, options_.quantize, options_.session.compute, options_.target);
    set_costs();
    if (options_.budget) check_budget();  // before anything that takes long
    measure_sensitivities();
    if (options_.lambda) choose_by_price();
    else if (is_of(Budget::Kind::bytes)) choose_within_bytes();
    else if (is_of(Budget::Kind::latency)) choose_within_time();
    else if (is_of(Budget::Kind::drop)) choose_within_drop();
    else choose_within(budget_cost(*options_.budget));
    found_.plan = files_->plan(found_.chosen().chosen);
    found_.file_bytes = files_->bytes(found_.chosen().chosen);
    if (options_.front) trace_front();
    found_.seconds = milliseconds_since(start) / 1000;
    return std::move(found_);
  }

 private:
  Statistics statistics(const CalibrationData& data) const {
    return collect_statistics(study_.graph, data.batches, {.session = study_.session});
  }

  Quantize quantizer() const {
    StatisticsSource learnt;
    if (calibrates(options_.quantize))
      learnt = [all = statistics(study_.data.for_methods())](const Graph&, bool) { return all; };
    return [this, learnt](const Graph& graph, const QuantizeOptions& options) {
      return quantize(graph, options, learnt, {.packer = study_.packer.get()});
    };
  }

  SensitivityOptions sensitivity_options() const {
    return {.measure_all = options_.measure_all,
            .batches = std::max<size_t>(1, study_.data.selecting.batches.size() / kSubstitutionShare),
            .session = study_.session,
            .told = [&](size_t done, size_t of) {
              context_.tell(fmt::format("sensitivity of tensor {} of {}", done + 1, of));
            }};
  }

  void measure_sensitivities() {
    found_.sensitivities = measure_sensitivity(found_.candidates, statistics(study_.data.selecting), study_.selection(),
                                               study_.known, sensitivity_options());
    set_losses();
  }

  void set_losses() {
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < found_.candidates.formats.size(); ++f)
        items_[t][f].loss = std::min(found_.sensitivities[t].loss(f), kWorst);
  }

  bool is_of(Budget::Kind kind) const { return options_.budget && options_.budget->kind == kind; }

  void set_item_costs(const std::function<double(size_t tensor, size_t format)>& cost) {
    items_.resize(found_.candidates.tensors.size());
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < found_.candidates.formats.size(); ++f) items_[t].push_back({cost(t, f), 0});
  }

  // Costs of the candidates and of the rest: bytes as stored, bytes of the file where the budget is of those, or
  // milliseconds where it is one of time.
  void set_costs() {
    if (is_of(Budget::Kind::bytes)) {
      context_.tell(fmt::format("what each format takes of a .{} file", options_.target));
      set_item_costs([&](size_t t, size_t f) { return files_->cost(t, static_cast<int>(f)); });
      const Solution least = cheapest(items_);
      found_.fixed_cost = static_cast<double>(files_->bytes(least.chosen)) - least.cost;
    } else if (is_of(Budget::Kind::latency)) {
      context_.tell("timing every format");
      const Bindings bindings = bind_symbols(study_.graph, options_.shapes);
      found_.times =
          time_formats(found_.candidates, study_.graph, default_inputs(study_.graph, bindings, options_.seed),
                       options_.session, options_.seconds, options_.seed);
      set_item_costs([&](size_t t, size_t f) { return found_.times->tensor_ms[t][f]; });
      found_.fixed_cost = found_.times->rest_ms;
    } else {
      set_item_costs([&](size_t t, size_t f) { return static_cast<double>(found_.candidates.tensors[t].bytes[f]); });
      found_.fixed_cost = static_cast<double>(found_.candidates.other_bytes);
    }
  }

  double budget_cost(const Budget& budget) const {
    switch (budget.kind) {
      case Budget::Kind::average_bits:
        return budget.value * static_cast<double>(found_.candidates.elements) / 8 - found_.fixed_cost;
      case Budget::Kind::bytes:
        return budget.value - found_.fixed_cost;
      case Budget::Kind::latency:
      case Budget::Kind::drop:  // of the dearest choice, which loses least
        break;
    }
    return (budget.is_relative ? budget.value * found_.times->original_ms : budget.value) - found_.fixed_cost;
  }

  // Of a metric, the output error decides among equals.
  double loss_of(const OutputDistance& d) const {
    const double loss = std::min(study_.scale.loss(d), kWorst);
    return d.figure ? loss + 1e-6 * std::min(d.error, 1.0) : loss;
  }

  double priced(std::span<const int> chosen) {
    return loss_of(found_.distance(chosen)) + options_.lambda.value_or(0) * found_.candidates.average_bits(chosen);
  }

  AllocateOptions allocate_options(double budget, int trials) {
    return {.budget = budget,
            .trials = trials,
            .seed = options_.seed,
            .score = [&](std::span<const int> chosen) { return priced(chosen); },
            .told = [&](const Trial& trial) { context_.tell(fmt::format("{}: {:.3g}", trial.origin, trial.score)); }};
  }

  std::string formats_text() const { return fmt::format("{}", fmt::join(found_.candidates.formats, ", ")); }

  void check_budget() {
    const Budget& budget = *options_.budget;
    const Solution least = cheapest(items_);
    if (budget.kind == Budget::Kind::drop) {
      if (!study_.scale.metric)
        fail("a budget of {}: of which metric? Give --data with labels, or --metric", to_string(budget));
      return;
    }
    if (budget.kind == Budget::Kind::latency) {
      if (least.cost > budget_cost(budget)) measure_written(least.chosen);  // estimates do not refuse
      if (found_.speed && !found_.speed->meets(budget)) refuse_time();
      return;
    }
    if (budget.kind == Budget::Kind::bytes) {
      const int64_t bytes = files_->bytes(least.chosen);
      if (static_cast<double>(bytes) > budget.value)
        fail("no choice of formats meets the budget of {}; the least that a .{} file has with {} is {} bytes ({})",
             to_string(budget), options_.target, formats_text(), bytes, human_bytes(static_cast<double>(bytes)));
      return;
    }
    if (least.cost > budget_cost(budget))
      fail("no choice of formats meets the budget of {}; the least with {} is {:.3f} bits per element",
           to_string(budget), formats_text(),
           8 * (least.cost + found_.fixed_cost) / static_cast<double>(found_.candidates.elements));
  }

  // The whole file is held to the budget: by its exact size as it is chosen, and, where that depends on the weights'
  // codes, as it is written. Costs of tensors don't quite add up to it, so what a choice is beyond the budget is kept
  // free of the next.
  void choose_within_bytes() {
    const double budget = options_.budget->value;
    const std::vector<int> least = cheapest(items_).chosen;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      choose_within(std::max(budget - found_.fixed_cost, cheapest(items_).cost * (1 + kNearlyEqual)));
      const double beyond = static_cast<double>(bytes_as_written(found_.chosen().chosen)) - budget;
      if (beyond <= 0) return;
      if (found_.chosen().chosen == least) break;
      found_.fixed_cost += beyond;
    }
    take_only(least);
    const int64_t bytes = bytes_as_written(least);
    if (static_cast<double>(bytes) > budget)
      fail("no choice of formats meets the budget of {}; the least that was written as .{} has {} bytes ({})",
           to_string(*options_.budget), options_.target, bytes, human_bytes(static_cast<double>(bytes)));
  }

  int64_t bytes_as_written(const std::vector<int>& chosen) {
    const int64_t bytes = files_->bytes(chosen);
    if (options_.target == "safetensors" || static_cast<double>(bytes) > options_.budget->value) return bytes;
    return std::max(bytes, files_->write(chosen).bytes);
  }

  void take_only(const std::vector<int>& chosen) {
    const Solution selection = select(items_, chosen);
    found_.allocation.trials.push_back({chosen, selection.cost, selection.loss, priced(chosen), "least"});
    found_.allocation.best = found_.allocation.trials.size() - 1;
    found_.allocation.is_uniform = false;
  }

  // Estimates choose; the file that was written of the choice is measured. One that is too slow is followed by a choice
  // with as much less to spend, at last by the fastest.
  void choose_within_time() {
    const Budget& budget = *options_.budget;
    const double least = cheapest(items_).cost * (1 + kNearlyEqual);
    double spend = std::max(budget_cost(budget), least);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      choose_within(spend);
      measure_written(found_.chosen().chosen);
      if (found_.speed->meets(budget)) return;
      if (spend <= least) break;
      const double reached = budget.is_relative ? found_.speed->share_ci95.high : found_.speed->plan_ms_ci95.high;
      const double next = (spend + found_.fixed_cost) * budget.value / reached - found_.fixed_cost;
      spend = attempt + 2 == kAttempts ? least : std::max(least, next);
    }
    refuse_time();
  }

  void measure_written(const std::vector<int>& chosen) {
    context_.tell("timing the plan as written beside the original");
    PlanSpeed speed = measure_plan(
        study_.model, files_->write(chosen).path,
        {.given = {}, .shapes = options_.shapes, .session = options_.session, .seed = options_.seed}, options_.seconds);
    if (!fastest_ || speed.share < fastest_->share) fastest_ = speed;
    found_.speed = std::move(speed);
  }

  [[noreturn]] void refuse_time() const {
    const PlanSpeed& f = *fastest_;
    fail(
        "no choice of formats meets the budget of {}: with {}, the file nearest to it of those that were written and "
        "measured {}, and "
        "the whole interval must be within the budget. At {}, {} thread(s), {} rounds on {} placements; the original "
        "computes in {} ({:.3f} ms), the plan in {} ({:.3f} ms). Nothing is written. Another --compute, --seq or "
        "--batch, other --formats or a larger budget may do",
        to_string(*options_.budget), formats_text(), f.text(*options_.budget), f.shape, options_.session.threads,
        f.rounds, kPlacements, to_string(f.original_compute), f.original_ms, to_string(f.plan_compute), f.plan_ms);
  }

  // More than the original, by what selects.
  double lost(const OutputDistance& d) {
    return study_.scale.loss(d) - study_.scale.loss(study_.selection().of_reference());
  }

  // The least of the front's budgets whose choice loses no more than is allowed.
  void choose_within_drop() {
    const double original = study_.selection().of_reference().figure->value;
    const double allowed =
        MaxDrop{options_.budget->value, options_.budget->is_relative}.of(original, study_.scale.metric->def->is_share);
    double least = INFINITY;
    for (double budget : budgets()) {
      const std::optional<Solution> solved = solve_knapsack(items_, budget * (1 + kNearlyEqual));
      if (!solved) continue;
      const double of_solution = lost(found_.distance(solved->chosen));
      context_.tell(fmt::format("{:.2f} bits: {} {:.3g} more than the original's",
                                found_.candidates.average_bits(solved->chosen), study_.scale.loss_name(), of_solution));
      least = std::min(least, of_solution);
      if (of_solution > allowed) continue;
      choose_within(budget * (1 + kNearlyEqual));
      if (lost(found_.distance(found_.chosen().chosen)) <= allowed) return;
    }
    fail(
        "no choice of formats meets the budget of {}: with {}, the least that was lost is {:.3g} of {}, where {:.3g} "
        "is "
        "allowed. Nothing is written. Wider --formats or a larger drop may do",
        to_string(*options_.budget), formats_text(), least, study_.scale.metric->title(), allowed);
  }

  // What a solution rests on is measured until it rests on measurements alone: it would choose what is estimated too
  // low.
  void choose_within(double budget) {
    for (int round = 0; round < kRounds; ++round) {
      const std::optional<Solution> solved = solve_knapsack(items_, budget);
      if (!solved || !measure_chosen(solved->chosen, found_.sensitivities, found_.candidates, study_.selection(),
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
      const std::optional<Solution> solved = solve_knapsack(items_, budget);
      if (!solved || (!found_.front.empty() && found_.front.back().chosen == solved->chosen)) continue;
      context_.tell(fmt::format("front: {:.2f} bits", found_.candidates.average_bits(solved->chosen)));
      found_.front.push_back(
          {solved->chosen, solved->cost, solved->loss, loss_of(found_.distance(solved->chosen)), "front"});
    }
  }

  // The budget whose solution is best at the price, then refined within it.
  void choose_by_price() {
    double best = INFINITY, budget = 0;
    for (double b : budgets())
      if (const std::optional<Solution> solved = solve_knapsack(items_, b))
        if (const double score = priced(solved->chosen); score < best) best = score, budget = b;
    choose_within(budget);
  }

  const AllocateFormatsOptions& options_;
  FormatStudy& study_;
  const TaskContext& context_;
  FoundFormats found_;
  std::vector<std::vector<Choice>> items_;  // of the knapsack, by tensor, by format
  std::optional<PlanFiles> files_;          // that choices become
  std::optional<PlanSpeed> fastest_;        // of what was measured as written
};

}  // namespace

OutputDistance FoundFormats::distance(std::span<const int> choice) {
  return distance_of(study.known.get<std::tuple_size_v<DistanceValues>>("whole\n" + candidates.text(choice), [&] {
    const auto start = std::chrono::steady_clock::now();
    const OutputDistance d = study.distance(study.selection(), candidates.with(choice));
    choice_seconds.push_back(milliseconds_since(start) / 1000);
    return values_of(d);
  }));
}

OutputDistance FoundFormats::judged(std::span<const int> choice) {
  if (!study.data.judging) return distance(choice);
  return distance_of(study.known.get<std::tuple_size_v<DistanceValues>>("held out\n" + candidates.text(choice), [&] {
    return values_of(study.distance(study.judge(), candidates.with(choice)));
  }));
}

FoundFormats search_formats(const AllocateFormatsOptions& options, FormatStudy& study, const TaskContext& context) {
  check(options);
  return FormatSearch(options, study, context).run();
}

}  // namespace hone
