#include "jobs/allocate_formats.h"

#include <algorithm>
#include <cmath>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "jobs/search_formats.h"
#include "measure/environment.h"
#include "measure/statistics.h"

namespace hone {
namespace {

// As a comment holds it.
std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// What was given besides the formats belongs to the plan.
void write_plan(const AllocateFormatsOptions& options, const FoundFormats& found) {
  const std::vector<int>& chosen = found.chosen().chosen;
  const bool of_bytes = options.budget && options.budget->kind == Budget::Kind::bytes;
  PlanNotes notes{.target = options.target,
                  .bytes = of_bytes ? static_cast<int64_t>(std::min(options.budget->value, 0x1p62)) : found.file_bytes};
  if (options.session.compute) notes.compute = to_string(*options.session.compute);
  write_file(options.output,
             fmt::format("# {}\n# {}: {:.3f} bits per element; {} bytes as .{}\n\n{}{}", one_line(options.command),
                         one_line(found.study.model.name), found.candidates.average_bits(chosen), found.file_bytes,
                         options.target, options_toml(plan_fields(), notes),
                         quantize_config(options.output, found.plan, found.study.data.calibration)));
}

// The plan must not take the place of what it is made from.
void check_output(const AllocateFormatsOptions& options) {
  if (!options.output.ends_with(".toml")) fail("{}: the plan's name must end in .toml", options.output);
}

class AllocationRecord {
 public:
  AllocationRecord(const AllocateFormatsOptions& options, FoundFormats& found)
      : options_(options), found_(found), study_(found.study), candidates_(found.candidates), plan_(found.chosen()) {}

  Record make() {
    Record record{
        .title = fmt::format("Number formats for {}", study_.model.name),
        .command = options_.command,
        .findings = findings(),
        .sections = {{"Choice", {results_table(), plan_table()}}, {"Search", {trials_plot(), trials_table()}}},
        .machine = describe(environment()),
        .manifest = {{"input", study_.model.path, study_.model.sha256(), study_.model.file_bytes},
                     {"output", options_.output, sha256_of_file(options_.output), 0}}};
    record.manifest.back().bytes = static_cast<int64_t>(read_file(options_.output).size());
    if (options_.front) record.sections.push_back(front_section());
    if (options_.measure_all) record.sections.push_back(sensitivity_section());
    if (found_.speed) record.sections.push_back(latency_section());
    return record;
  }

 private:
  std::vector<Cell> result_row(const std::string& name, std::span<const int> chosen) {
    std::vector<Cell> row = {name, number(candidates_.average_bits(chosen)),
                             number(static_cast<double>(candidates_.stored_bytes(chosen)))};
    for (Cell& cell : study_.distance_cells(found_.judged(chosen), found_.distance(chosen)))
      row.push_back(std::move(cell));
    return row;
  }

  // In f32, what all others are compared with.
  std::vector<Cell> original_row() {
    const std::vector<int> plain = candidates_.uniform(kPlain);
    std::vector<Cell> row = {"the original, f32", number(candidates_.average_bits(plain)),
                             number(static_cast<double>(candidates_.stored_bytes(plain)))};
    for (Cell& cell : study_.distance_cells(study_.judge().of_reference(), study_.selection().of_reference()))
      row.push_back(std::move(cell));
    return row;
  }

  Table results_table() {
    const Compute compute = options_.session.compute.value_or(Compute::f32);
    Table table{
        .key = "results", .title = study_.data.title, .columns = study_.distance_columns({{"choice", "choice"}})};
    table.rows.push_back(result_row("the plan", plan_.chosen));
    for (size_t f = 0; f < candidates_.formats.size(); ++f)
      table.rows.push_back(result_row("all in " + candidates_.formats[f], candidates_.uniform(static_cast<int>(f))));
    if (compute != Compute::f32)
      table.rows.push_back(
          result_row(fmt::format("the original, {}", to_string(compute)), candidates_.uniform(kPlain)));
    table.rows.push_back(original_row());
    table.note = fmt::format(
        "Output error: sum of squared differences to the original's outputs in f32 over the sum of their "
        "squares, products read activations in {}. Intervals: 95 %, Student's t over samples, of a share Wilson's, of "
        "other metrics the bootstrap. Average bits count everything stored: codes, scales, zero points, and tensors "
        "that keep their type.",
        to_string(compute));
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
      const auto f = static_cast<size_t>(plan_.chosen[t]);
      const TensorSensitivity& s = found_.sensitivities[t];
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
    Line scores{"each", {}}, best{"least so far", {}};
    double least = INFINITY;
    for (size_t i = 0; i < found_.allocation.trials.size(); ++i) {
      const double x = static_cast<double>(i + 1);
      least = std::min(least, found_.allocation.trials[i].score);
      scores.points.emplace_back(x, found_.allocation.trials[i].score);
      best.points.emplace_back(x, least);
    }
    return {.key = "trials",
            .title = "What was measured, in order",
            .x = {.title = "trial"},
            .y = {.title = score_name(), .logarithmic = least > 0},
            .lines = {scores, best}};
  }

  std::string score_name() const {
    const std::string what = study_.loss_name();
    return options_.lambda ? fmt::format("{} + {:g} bits", what, *options_.lambda) : what;
  }

  Table trials_table() {
    Table table{.key = "trials_measured",
                .title = "Measured choices",
                .columns = {{"origin", "choice"},
                            {"average_bits", "average bits", "", {NumberFormat::fixed, 3}},
                            {"predicted", "predicted error", "", {NumberFormat::significant, 3}},
                            {"score", score_name(), "", {NumberFormat::significant, 4}}}};
    for (const Trial& trial : found_.allocation.trials)
      table.rows.push_back(
          {trial.origin, number(candidates_.average_bits(trial.chosen)), number(trial.predicted), number(trial.score)});
    const std::vector<int> plain = candidates_.uniform(kPlain);
    const OutputDistance original = found_.distance(plain);
    const double bits = candidates_.average_bits(plain);
    table.rows.push_back(
        {"the original", number(bits), Cell(), number(study_.loss(original) + options_.lambda.value_or(0) * bits)});
    table.note = fmt::format("On the {} samples that select.", study_.data.selecting.samples);
    return table;
  }

  Section front_section() {
    ScatterPlot plot{.key = "front_plot",
                     .title = "Size against quality",
                     .x = {.title = "average bits"},
                     .y = study_.quality(),
                     .pareto = study_.larger_is_better()};
    Table table{.key = "front",
                .title = "Choices by budget",
                .columns = study_.distance_columns({{"point", "point"}}),
                .note = study_.data.title};
    table.columns.insert(table.columns.begin() + 3,
                         {"predicted", "predicted error", "", {NumberFormat::significant, 3}});
    const auto add_row = [&](const std::string& name, std::span<const int> choice, Cell predicted) {
      const OutputDistance d = found_.judged(choice);
      std::vector<Cell> row = {name, number(candidates_.average_bits(choice)),
                               number(static_cast<double>(candidates_.stored_bytes(choice))), std::move(predicted)};
      for (Cell& cell : study_.distance_cells(d, found_.distance(choice))) row.push_back(std::move(cell));
      table.rows.push_back(std::move(row));
      return d;
    };
    const auto add_point = [&](const std::string& name, std::span<const int> choice, const OutputDistance& d) {
      if (!std::isfinite(d.error) || d.error <= 0) return;
      plot.points.push_back(study_.point(name, candidates_.average_bits(choice), d));
    };
    for (size_t i = 0; i < found_.front.size(); ++i)
      add_point("", found_.front[i].chosen,
                add_row(fmt::format("{}", i + 1), found_.front[i].chosen, number(found_.front[i].predicted)));
    const std::vector<int> plain = candidates_.uniform(kPlain);
    add_row("the original", plain, {});
    for (size_t f = 0; f < candidates_.formats.size(); ++f) {
      const std::vector<int> uniform = candidates_.uniform(static_cast<int>(f));
      add_point(candidates_.formats[f], uniform, found_.judged(uniform));
    }
    add_point("the plan", plan_.chosen, found_.judged(plan_.chosen));
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
    for (size_t t = 0; t < found_.sensitivities.size(); ++t)
      for (size_t f = 0; f < candidates_.formats.size(); ++f) {
        const TensorSensitivity& s = found_.sensitivities[t];
        if (!s.output_error[f]) continue;
        const double estimate = s.estimate(f), measured = *s.output_error[f];
        table.rows.push_back({candidates_.tensors[t].name, candidates_.formats[f], number(s.layer_error[f]),
                              number(estimate), number(measured)});
        if (estimate > 0 && measured > 0 && std::isfinite(measured)) plot.points.push_back({"", estimate, measured});
      }
    return {"Sensitivity", {plot, table}};
  }

  Section latency_section() const {
    const PlanSpeed& s = *found_.speed;
    const NumberStyle count{NumberFormat::integer, 0};
    return {"Time",
            {KeyValues{.key = "time",
                       .title = "The plan's file beside the original, each under its own compute type",
                       .items = {{"shape", "inputs", s.shape},
                                 {"threads", "threads", number(options_.session.threads), "", count},
                                 {"original_ms", fmt::format("the original, {}", to_string(s.original_compute)),
                                  number(s.original_ms, s.original_ms_ci95), "ms"},
                                 {"plan_ms", fmt::format("the plan, {}", to_string(s.plan_compute)),
                                  number(s.plan_ms, s.plan_ms_ci95), "ms"},
                                 {"measured_ratio", "the plan / the original", number(s.share, s.share_ci95)},
                                 {"predicted_ms", "the plan, estimated from steps",
                                  number(plan_.cost + found_.fixed_cost), "ms"},
                                 {"rounds", "interleaved rounds", number(s.rounds), "", count},
                                 {"placements", "times set up anew", number(kPlacements), "", count}}}}};
  }

  std::vector<std::string> findings() {
    std::vector<std::string> findings;
    const OutputDistance plan = found_.judged(plan_.chosen);
    std::string first =
        fmt::format("{}: {:.3f} bits per element, {} bytes ({}) as .{}; {} {} samples: {}", options_.output,
                    candidates_.average_bits(plan_.chosen), found_.file_bytes,
                    human_bytes(static_cast<double>(found_.file_bytes)), options_.target,
                    study_.data.judging ? "on" : "on the same", study_.data.held_out().samples, study_.text_of(plan));
    if (study_.data.judging) first += ", held out from choosing";
    else first += "; they chose it too, so this flatters";
    findings.push_back(first);
    if (plan.figure)
      findings.push_back(
          fmt::format("The original on the same samples: {}", study_.text_of(study_.judge().of_reference())));
    if (found_.speed)
      findings.push_back(fmt::format("At {}, {} thread(s), the plan's file {}", found_.speed->shape,
                                     options_.session.threads, found_.speed->text(*options_.budget)));
    if (found_.allocation.is_uniform)
      findings.push_back(fmt::format("The plan is {}: no mixture that was measured has less {} where it was chosen.",
                                     plan_.origin, score_name()));
    else if (const Trial* best = best_uniform())
      findings.push_back(fmt::format(
          "Where it was chosen, the uniform choice within the budget with the least {}, {}, has {:.3g}, the plan "
          "{:.3g}; held out, {}: {}.",
          score_name(), best->origin.substr(8), best->score, plan_.score, best->origin.substr(8),
          study_.text_of(found_.judged(best->chosen))));
    else findings.push_back("No uniform choice meets the budget.");
    if (options_.measure_all) {
      const EstimateQuality quality = estimate_quality(found_.sensitivities);
      findings.push_back(
          fmt::format("Of {} pairs of tensor and format, rank correlation with the measured output error: layer errors "
                      "alone {:.3f}, "
                      "scaled by one measurement a tensor {:.3f}.",
                      quality.pairs, quality.layer_error, quality.estimate));
    }
    std::string effort = fmt::format("{:.1f} s; {} measurements taken, {} remembered", found_.seconds,
                                     study_.known.measured(), study_.known.recalled());
    if (!found_.choice_seconds.empty())
      effort += fmt::format("; measuring one choice takes {:.2f} s: 30 trials of any search, {:.1f} s",
                            median(found_.choice_seconds), 30 * median(found_.choice_seconds));
    findings.push_back(effort);
    return findings;
  }

  const Trial* best_uniform() const {
    const Trial* best = nullptr;
    for (const Trial& trial : found_.allocation.trials)
      if (trial.origin.starts_with("uniform") && (!best || trial.score < best->score)) best = &trial;
    return best;
  }

  const AllocateFormatsOptions& options_;
  FoundFormats& found_;
  FormatStudy& study_;
  const Candidates& candidates_;
  const Trial& plan_;
};

}  // namespace

Record allocate_formats(const AllocateFormatsOptions& options) {
  check_output(options);
  FormatStudy study({.model = options.model,
                     .inputs = options.inputs,
                     .data = options.data,
                     .judged = options.judged,
                     .calibration = options.calibration,
                     .quantize = options.quantize,
                     .session = options.session,
                     .memory = options.memory});
  FoundFormats found = search_formats(options, study);
  write_plan(options, found);
  return AllocationRecord(options, found).make();
}

}  // namespace hone
