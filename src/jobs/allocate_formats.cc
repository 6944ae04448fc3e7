#include "jobs/allocate_formats.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/threads.h"
#include "calibrate/collect.h"
#include "codegen/compiled_packer.h"
#include "jobs/calibration_data.h"
#include "jobs/format_costs.h"
#include "measure/environment.h"
#include "measure/ratio.h"
#include "measure/statistics.h"
#include "search/allocate.h"
#include "search/sensitivity.h"

namespace hone {
namespace {

constexpr size_t kFrontPoints = 12;
constexpr size_t kSubstitutionShare = 8;  // substitutions are measured on this part of the data
constexpr int kRounds = 4;                // of measuring what the solution rests on
constexpr double kWorst = 1e30;           // in place of an infinite error: outputs that are not finite

using Items = std::vector<std::vector<Choice>>;

double decibels(double error) { return -10 * std::log10(error); }
Cell decibel_cell(double error) { return error > 0 ? number(decibels(error)) : Cell("exact"); }

class Allocator {
 public:
  explicit Allocator(const AllocateFormatsOptions& options)
      : options_(options),
        model_(load_model(options.model, options.inputs)),
        graph_(canonicalise(model_.graph)),
        data_(read_calibration(model_, options.calibration.file, options.calibration.batch)),
        known_(options.memory, about()) {
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

  Record run() {
    const auto start = std::chrono::steady_clock::now();
    tell(options_.progress, "gathering statistics of the layers' inputs");
    const Statistics statistics = collect_statistics(graph_, data_.batches, {.session = options_.session});
    candidates_ = make_candidates(graph_, options_.formats, options_.quantize, quantiser(statistics),
                                  [&](const std::string& f) { tell(options_.progress, "packing in " + f); });
    measure_.emplace(graph_, data_.batches, data_.labels, options_.session);
    set_costs();
    if (options_.budget) check_budget();  // before anything that takes long
    measure_sensitivities(statistics);
    if (options_.lambda) choose_by_price();
    else choose_within(budget_cost(*options_.budget));
    if (options_.front) trace_front();
    seconds_ = milliseconds_since(start) / 1000;
    write_plan();
    return record();
  }

 private:
  // What the measurements depend on besides the choice of formats.
  std::string about() const {
    return fmt::format("{} {} {} {} {}", model_.sha256(), data_.sha256, options_.calibration.batch,
                       to_string(options_.session.compute.value_or(Compute::f32)),
                       options_toml(quantize_fields(), options_.quantize));
  }

  Quantise quantiser(const Statistics& statistics) const {
    return [this, &statistics](const Graph& graph, const QuantizeOptions& options) {
      return quantise(graph, options, [&](const Graph&, bool) { return statistics; }, {.packer = &packer_});
    };
  }

  SensitivityOptions sensitivity_options() const {
    return {.measure_all = options_.measure_all,
            .batches = std::max<size_t>(1, data_.batches.size() / kSubstitutionShare),
            .session = options_.session,
            .told = [&](size_t done, size_t of) {
              tell(options_.progress, fmt::format("sensitivity of tensor {} of {}", done + 1, of));
            }};
  }

  void measure_sensitivities(const Statistics& statistics) {
    sensitivities_ = measure_sensitivity(candidates_, statistics, *measure_, known_, sensitivity_options());
    set_losses();
  }

  void set_losses() {
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < candidates_.formats.size(); ++f)
        items_[t][f].loss = std::min(sensitivities_[t].loss(f), kWorst);
  }

  // Costs of the candidates and of the rest: bytes, or milliseconds when the budget is one of time.
  void set_costs() {
    items_.resize(candidates_.tensors.size());
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < candidates_.formats.size(); ++f)
        items_[t].push_back({static_cast<double>(candidates_.tensors[t].bytes[f]), 0});
    fixed_cost_ = static_cast<double>(candidates_.other_bytes);
    if (!options_.budget || options_.budget->kind != Budget::Kind::latency) return;
    tell(options_.progress, "timing every format");
    times_ = time_formats(candidates_, graph_, data_.first_sample, options_.session, options_.seconds, options_.seed);
    for (size_t t = 0; t < items_.size(); ++t)
      for (size_t f = 0; f < candidates_.formats.size(); ++f) items_[t][f].cost = times_->tensor_ms[t][f];
    fixed_cost_ = times_->rest_ms;
  }

  double budget_cost(const Budget& budget) const {
    switch (budget.kind) {
      case Budget::Kind::average_bits:
        return budget.value * static_cast<double>(candidates_.elements) / 8 - fixed_cost_;
      case Budget::Kind::bytes:
        return budget.value - fixed_cost_;
      case Budget::Kind::latency:
        break;
    }
    return (budget.is_relative ? budget.value * times_->original_ms : budget.value) - fixed_cost_;
  }

  // In the budget's own unit, of all that the model needs.
  std::string cost_text(double cost) const {
    cost += fixed_cost_;
    if (options_.budget->kind == Budget::Kind::latency)
      return options_.budget->is_relative ? fmt::format("{:.3f} of the original's time", cost / times_->original_ms)
                                          : fmt::format("{:.3f} ms", cost);
    if (options_.budget->kind == Budget::Kind::bytes) return human_bytes(cost);
    return fmt::format("{:.3f} bits per element", 8 * cost / static_cast<double>(candidates_.elements));
  }

  OutputDistance distance(std::span<const int> chosen) {
    const std::vector<double> values = known_.get("whole\n" + candidates_.text(chosen), [&] {
      const auto start = std::chrono::steady_clock::now();
      const OutputDistance d = (*measure_)(candidates_.with(chosen));
      choice_seconds_.push_back(milliseconds_since(start) / 1000);
      return std::vector<double>{d.error, d.accuracy.value_or(-1)};
    });
    return {values[0], values[1] < 0 ? std::nullopt : std::optional(values[1])};
  }

  // With labels the share of wrong rows, and the output error among equals.
  double loss_of(const OutputDistance& d) const {
    const double error = std::min(d.error, kWorst);
    return d.accuracy ? 1 - *d.accuracy + 1e-6 * std::min(error, 1.0) : error;
  }

  double priced(std::span<const int> chosen) {
    return loss_of(distance(chosen)) + options_.lambda.value_or(0) * candidates_.average_bits(chosen);
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
           fmt::join(candidates_.formats, ", "), cost_text(least));
  }

  // What a solution rests on is measured until it rests on measurements alone: it would choose what is estimated too
  // low.
  void choose_within(double budget) {
    for (int round = 0; round < kRounds; ++round) {
      const std::optional<Selection> solved = solve_knapsack(items_, budget);
      if (!solved ||
          !measure_chosen(solved->chosen, sensitivities_, candidates_, *measure_, known_, sensitivity_options()))
        break;
      set_losses();
    }
    allocation_ = allocate(items_, candidates_.formats, allocate_options(budget, options_.trials));
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
      if (!solved || (!front_.empty() && front_.back().chosen == solved->chosen)) continue;
      tell(options_.progress, fmt::format("front: {:.2f} bits", candidates_.average_bits(solved->chosen)));
      front_.push_back({solved->chosen, solved->cost, solved->loss, loss_of(distance(solved->chosen)), "front"});
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

  const Trial& chosen() const { return allocation_.trials[allocation_.best]; }

  // What was given besides the formats belongs to the plan.
  void write_plan() const {
    QuantizeOptions plan = options_.quantize;
    for (size_t t = 0; t < candidates_.tensors.size(); ++t)
      plan.rule.push_back(fmt::format("name:{}={}", candidates_.tensors[t].name, format_of(t)));
    write_file(options_.output, fmt::format("# {}\n# {}: {:.3f} bits per element, {}\n\n{}", options_.command,
                                            model_.name, candidates_.average_bits(chosen().chosen),
                                            human_bytes(static_cast<double>(candidates_.stored_bytes(chosen().chosen))),
                                            options_toml(quantize_fields(), plan)));
  }

  const std::string& format_of(size_t tensor) const {
    return candidates_.formats[static_cast<size_t>(chosen().chosen[tensor])];
  }

  std::vector<Cell> result_row(const std::string& name, std::span<const int> chosen) {
    const OutputDistance d = distance(chosen);
    std::vector<Cell> row = {name, number(candidates_.average_bits(chosen)),
                             number(static_cast<double>(candidates_.stored_bytes(chosen))), number(d.error),
                             decibel_cell(d.error)};
    if (measure_->has_labels()) row.push_back(number(*d.accuracy));
    return row;
  }

  Table results_table() {
    Table table{.key = "results",
                .title = fmt::format("On the {} samples of {}", data_.samples, options_.calibration.file),
                .columns = {{"choice", "choice"},
                            {"average_bits", "average bits", "", {NumberFormat::fixed, 3}},
                            {"bytes", "weights", "", {NumberFormat::bytes, 3}},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}}}};
    if (measure_->has_labels()) table.columns.push_back({"accuracy", "accuracy", "", {NumberFormat::percent, 2}});
    table.rows.push_back(result_row("the plan", chosen().chosen));
    for (size_t f = 0; f < candidates_.formats.size(); ++f)
      table.rows.push_back(result_row("all in " + candidates_.formats[f], candidates_.uniform(static_cast<int>(f))));
    table.rows.push_back(result_row("unchanged", candidates_.uniform(kPlain)));
    table.note = fmt::format(
        "Output error: sum of squared differences to the original's outputs in f32 over the sum of their "
        "squares, products read activations in {}. Average bits count everything stored: codes, scales, "
        "zero points, and tensors that keep their type.",
        to_string(options_.session.compute.value_or(Compute::f32)));
    return table;
  }

  Table plan_table() const {
    Table table{.key = "plan",
                .title = "The plan",
                .columns = {{"name", "tensor"},
                            {"format", "format"},
                            {"bytes", "bytes", "", {NumberFormat::bytes, 3}},
                            {"layer_error", "layer error", "", {NumberFormat::significant, 3}},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"from", "known by"}}};
    for (size_t t = 0; t < candidates_.tensors.size(); ++t) {
      const auto f = static_cast<size_t>(chosen().chosen[t]);
      const TensorSensitivity& s = sensitivities_[t];
      table.rows.push_back({candidates_.tensors[t].name, candidates_.formats[f],
                            number(static_cast<double>(candidates_.tensors[t].bytes[f])), number(s.layer_error[f]),
                            number(s.loss(f)), s.output_error[f] ? "measured" : "estimate"});
    }
    table.note =
        "Layer error: of the layer's output under the covariance of its inputs, relative. Output error: of the model, "
        "with this tensor alone in that format.";
    return table;
  }

  LinePlot trials_plot() const {
    Line scores{"each", {}}, best{"best so far", {}};
    double least = INFINITY;
    for (size_t i = 0; i < allocation_.trials.size(); ++i) {
      const double x = static_cast<double>(i + 1);
      least = std::min(least, allocation_.trials[i].score);
      scores.points.emplace_back(x, allocation_.trials[i].score);
      best.points.emplace_back(x, least);
    }
    return {.key = "trials",
            .title = "What was measured, in order",
            .x = {.title = "trial"},
            .y = {.title = score_name(), .logarithmic = least > 0},
            .lines = {scores, best}};
  }

  std::string score_name() const {
    const std::string what = measure_->has_labels() ? "share of wrong rows" : "output error";
    return options_.lambda ? fmt::format("{} + {:g} bits", what, *options_.lambda) : what;
  }

  Table trials_table() const {
    Table table{.key = "trials_measured",
                .title = "Measured choices",
                .columns = {{"origin", "choice"},
                            {"average_bits", "average bits", "", {NumberFormat::fixed, 3}},
                            {"predicted", "predicted error", "", {NumberFormat::significant, 3}},
                            {"score", score_name(), "", {NumberFormat::significant, 4}}}};
    for (const Trial& trial : allocation_.trials)
      table.rows.push_back(
          {trial.origin, number(candidates_.average_bits(trial.chosen)), number(trial.predicted), number(trial.score)});
    return table;
  }

  Section front_section() {
    ScatterPlot plot{.key = "front_plot",
                     .title = "Size against quality",
                     .x = {.title = "average bits"},
                     .y = {.title = measure_->has_labels() ? "accuracy" : "output SQNR",
                           .unit = measure_->has_labels() ? "" : "dB"}};
    Table table{.key = "front",
                .title = "Best choices by budget",
                .columns = {{"point", "point"},
                            {"average_bits", "average bits", "", {NumberFormat::fixed, 3}},
                            {"bytes", "weights", "", {NumberFormat::bytes, 3}},
                            {"predicted", "predicted error", "", {NumberFormat::significant, 3}},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}}}};
    const auto add_point = [&](const std::string& name, std::span<const int> choice) {
      const OutputDistance d = distance(choice);
      if (!std::isfinite(d.error) || d.error <= 0) return;
      plot.points.push_back({name, candidates_.average_bits(choice), d.accuracy ? *d.accuracy : decibels(d.error)});
    };
    for (size_t i = 0; i < front_.size(); ++i) {
      const OutputDistance d = distance(front_[i].chosen);
      table.rows.push_back({fmt::format("{}", i + 1), number(candidates_.average_bits(front_[i].chosen)),
                            number(static_cast<double>(candidates_.stored_bytes(front_[i].chosen))),
                            number(front_[i].predicted), number(d.error), decibel_cell(d.error)});
      add_point("", front_[i].chosen);
    }
    for (size_t f = 0; f < candidates_.formats.size(); ++f)
      add_point(candidates_.formats[f], candidates_.uniform(static_cast<int>(f)));
    add_point("the plan", chosen().chosen);
    return {"Front", {plot, table}};
  }

  // Every measured pair of tensor and format, with what was estimated before.
  Section sensitivity_section() const {
    Table table{.key = "sensitivity",
                .title = "Each tensor alone in each format",
                .columns = {{"name", "tensor"},
                            {"format", "format"},
                            {"layer_error", "layer error", "", {NumberFormat::significant, 3}},
                            {"estimate", "estimated output error", "", {NumberFormat::significant, 3}},
                            {"output_error", "measured output error", "", {NumberFormat::significant, 3}}},
                .note =
                    "The estimate is the layer error times what one measurement of the tensor says of the "
                    "output."};
    ScatterPlot plot{.key = "estimates",
                     .title = "Estimated and measured output error",
                     .x = {.title = "estimated", .logarithmic = true},
                     .y = {.title = "measured", .logarithmic = true},
                     .pareto = false};
    for (size_t t = 0; t < sensitivities_.size(); ++t)
      for (size_t f = 0; f < candidates_.formats.size(); ++f) {
        const TensorSensitivity& s = sensitivities_[t];
        if (!s.output_error[f]) continue;
        const double estimate = s.estimate(f), measured = *s.output_error[f];
        table.rows.push_back({candidates_.tensors[t].name, candidates_.formats[f], number(s.layer_error[f]),
                              number(estimate), number(measured)});
        if (estimate > 0 && measured > 0 && std::isfinite(measured)) plot.points.push_back({"", estimate, measured});
      }
    return {"Sensitivity", {plot, table}};
  }

  Section latency_section() {
    Session original(graph_, options_.session), plan(candidates_.with(chosen().chosen), options_.session);
    const Ratio ratio = verified_speed(original, plan, data_.first_sample, options_.seconds, options_.seed);
    return {"Time",
            {KeyValues{.key = "time",
                       .title = "One sample",
                       .items = {{"original_ms", "the original", number(times_->original_ms), "ms"},
                                 {"predicted_ms", "the plan, predicted", number(chosen().cost + fixed_cost_), "ms"},
                                 {"measured_ratio", "the plan / the original, measured",
                                  number(1 / ratio.value, {1 / ratio.ci95.high, 1 / ratio.ci95.low})}}}}};
  }

  std::vector<std::string> findings() {
    std::vector<std::string> findings;
    const OutputDistance plan = distance(chosen().chosen);
    std::string first =
        fmt::format("{}: {:.3f} bits per element, {}, output error {:.3g}", options_.output,
                    candidates_.average_bits(chosen().chosen),
                    human_bytes(static_cast<double>(candidates_.stored_bytes(chosen().chosen))), plan.error);
    if (plan.accuracy)
      first += fmt::format(", accuracy {:.2f} % (the original {:.2f} %)", 100 * *plan.accuracy,
                           100 * *measure_->of_reference().accuracy);
    findings.push_back(first);
    if (allocation_.is_uniform)
      findings.push_back(
          fmt::format("No mixture that was measured is better than {}: the plan is that.", chosen().origin));
    else if (const Trial* best = best_uniform())
      findings.push_back(fmt::format("The best uniform choice within the budget, {}, has {} {:.3g}; the plan {:.3g}.",
                                     best->origin.substr(8), score_name(), best->score, chosen().score));
    else findings.push_back("No uniform choice meets the budget.");
    if (options_.measure_all) {
      const EstimateQuality quality = estimate_quality(sensitivities_);
      findings.push_back(
          fmt::format("Of {} pairs of tensor and format, rank correlation with the measured output error: layer errors "
                      "alone {:.3f}, "
                      "scaled by one measurement a tensor {:.3f}.",
                      quality.pairs, quality.layer_error, quality.estimate));
    }
    std::string effort =
        fmt::format("{:.1f} s; {} measurements taken, {} remembered", seconds_, known_.measured(), known_.recalled());
    if (!choice_seconds_.empty())
      effort += fmt::format("; measuring one choice takes {:.2f} s: 30 trials of any search, {:.1f} s",
                            median(choice_seconds_), 30 * median(choice_seconds_));
    findings.push_back(effort);
    return findings;
  }

  const Trial* best_uniform() const {
    const Trial* best = nullptr;
    for (const Trial& trial : allocation_.trials)
      if (trial.origin.starts_with("uniform") && (!best || trial.score < best->score)) best = &trial;
    return best;
  }

  Record record() {
    Record record{
        .title = fmt::format("Number formats for {}", model_.name),
        .command = options_.command,
        .findings = findings(),
        .sections = {{"Choice", {results_table(), plan_table()}}, {"Search", {trials_plot(), trials_table()}}},
        .machine = describe(environment()),
        .manifest = {{"input", model_.path, model_.sha256(), model_.file_bytes},
                     {"output", options_.output, sha256_of_file(options_.output), 0}}};
    record.manifest.back().bytes = static_cast<int64_t>(read_file(options_.output).size());
    if (options_.front) record.sections.push_back(front_section());
    if (options_.measure_all) record.sections.push_back(sensitivity_section());
    if (times_) record.sections.push_back(latency_section());
    return record;
  }

  const AllocateFormatsOptions& options_;
  LoadedModel model_;
  Graph graph_;
  CalibrationData data_;
  Measurements known_;
  CompiledPacker packer_{{.threads = hardware_threads(), .cache_folder = default_cache_folder()}};
  Candidates candidates_;
  std::optional<OutputMeasure> measure_;
  std::vector<TensorSensitivity> sensitivities_;
  Items items_;
  double fixed_cost_ = 0, seconds_ = 0;
  std::vector<double> choice_seconds_;  // of whole choices that were measured
  std::optional<FormatTimes> times_;
  Allocation allocation_;
  std::vector<Trial> front_;
};

}  // namespace

Record allocate_formats(const AllocateFormatsOptions& options) { return Allocator(options).run(); }

}  // namespace hone
