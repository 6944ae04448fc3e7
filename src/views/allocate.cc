#include "views/allocate.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "measure/environment.h"
#include "views/conditions.h"
#include "views/quality.h"

namespace hone {
namespace {

class Viewer {
 public:
  Viewer(const AllocatedFormats& allocated, const std::string& output)
      : allocated_(allocated), output_(output), scale_(allocated.study.scale) {}

  std::vector<std::string> findings() const {
    const AllocatedFormats& a = allocated_;
    std::string first = fmt::format("{}: {:.3f} bits per element, {} bytes ({}) as .{}; {} {} samples: {}", output_,
                                    a.chosen.average_bits, a.file_bytes, human_bytes(static_cast<double>(a.file_bytes)),
                                    a.notes.target, a.study.holds_out ? "on" : "on the same", a.study.held_out_samples,
                                    text_of(scale_, a.chosen.held_out));
    first += a.study.holds_out ? ", held out from choosing" : "; they chose it too, so this flatters";
    std::vector<std::string> findings{first};
    if (a.chosen.held_out.figure)
      findings.push_back(fmt::format("The original on the same samples: {}", text_of(scale_, a.original.held_out)));
    if (a.speed)
      findings.push_back(
          fmt::format("At {}, {} thread(s), the plan's file {}", a.speed->shape, a.threads, a.speed->text(*a.budget)));
    findings.push_back(beside_uniform());
    if (a.estimates)
      findings.push_back(
          fmt::format("Of {} pairs of tensor and format, rank correlation with the measured output error: layer errors "
                      "alone {:.3f}, "
                      "scaled by one measurement a tensor {:.3f}.",
                      a.estimates->pairs, a.estimates->layer_error, a.estimates->estimate));
    std::string effort =
        fmt::format("{:.1f} s; {} measurements taken, {} remembered", a.seconds, a.measured, a.recalled);
    if (a.choice_seconds)
      effort += fmt::format("; measuring one choice takes {:.2f} s: 30 trials of any search, {:.1f} s",
                            *a.choice_seconds, 30 * *a.choice_seconds);
    findings.push_back(effort);
    return findings;
  }

  Table results() const {
    Table table{.key = "results",
                .title = allocated_.study.data,
                .columns = distance_columns(scale_, {{"choice", "choice"}}),
                .note = fmt::format(
                    "Output error: sum of squared differences to the original's outputs in f32 over the sum of their "
                    "squares, products read activations in {}. Intervals: 95 %, Student's t over samples, of a share "
                    "Wilson's, of other metrics the bootstrap. Average bits count everything stored: codes, scales, "
                    "zero points, and tensors that keep their type.",
                    to_string(allocated_.compute))};
    table.rows.push_back(row(allocated_.chosen));
    for (const MeasuredChoice& each : allocated_.uniform) table.rows.push_back(row(each));
    if (allocated_.original_as_the_others) table.rows.push_back(row(*allocated_.original_as_the_others));
    table.rows.push_back(row(allocated_.original));
    return table;
  }

  Table plan() const {
    Table table{.key = "plan",
                .title = "The plan",
                .columns = {{"name", "tensor"},
                            {"format", "format"},
                            {"bytes", "bytes", "", {NumberFormat::bytes, 3}},
                            {"layer_error", "layer error", "", {NumberFormat::significant, 3}},
                            {"output_error", "output error", "", {NumberFormat::significant, 3}},
                            {"from", "known by"}},
                .note =
                    "Layer error: of the layer's output under the covariance of its inputs, relative. Output error: of "
                    "the model, with this tensor alone in that format."};
    for (const AllocatedTensor& t : allocated_.tensors)
      table.rows.push_back({t.name, t.format, number(static_cast<double>(t.bytes)), number(t.layer_error),
                            number(t.output_error), t.is_measured ? "measured" : "estimate"});
    return table;
  }

  LinePlot trials_plot() const {
    Line scores{"each", {}}, least_so_far{"least so far", {}};
    double least = INFINITY;
    for (size_t i = 0; i < allocated_.trials.size(); ++i) {
      const double x = static_cast<double>(i + 1), score = allocated_.trials[i].score;
      least = std::min(least, score);
      scores.points.emplace_back(x, score);
      least_so_far.points.emplace_back(x, least);
    }
    return {.key = "trials",
            .title = "What was measured, in order",
            .x = {.title = "trial"},
            .y = {.title = score_name(), .logarithmic = least > 0},
            .lines = {scores, least_so_far}};
  }

  Table trials() const {
    Table table{.key = "trials_measured",
                .title = "Measured choices",
                .columns = {{"origin", "choice"},
                            {"average_bits", "average bits", "", {NumberFormat::fixed, 3}},
                            {"predicted", "predicted error", "", {NumberFormat::significant, 3}},
                            {"score", score_name(), "", {NumberFormat::significant, 4}}},
                .note = fmt::format("On the {} samples that select.", allocated_.study.selecting_samples)};
    for (const WeighedChoice& t : allocated_.trials)
      table.rows.push_back({t.origin, number(t.average_bits), number(t.predicted), number(t.score)});
    const WeighedChoice& original = allocated_.original_weighed;
    table.rows.push_back({original.origin, number(original.average_bits), Cell(), number(original.score)});
    return table;
  }

  Section front() const {
    ScatterPlot plot{.key = "front_plot",
                     .title = "Size against quality",
                     .x = {.title = "average bits"},
                     .y = quality_axis(scale_),
                     .pareto = scale_.larger_is_better()};
    Table table{.key = "front",
                .title = "Choices by budget",
                .columns = distance_columns(scale_, {{"point", "point"}}),
                .note = allocated_.study.data};
    table.columns.insert(table.columns.begin() + 3,
                         {"predicted", "predicted error", "", {NumberFormat::significant, 3}});
    const auto add_row = [&](const MeasuredChoice& choice, Cell predicted) {
      table.rows.push_back(row(choice));
      table.rows.back().insert(table.rows.back().begin() + 3, std::move(predicted));
    };
    const auto add_point = [&](const std::string& name, const MeasuredChoice& choice) {
      const OutputDistance& d = choice.held_out;
      if (std::isfinite(d.error) && d.error > 0)
        plot.points.push_back(quality_point(scale_, name, choice.average_bits, d));
    };
    for (const MeasuredChoice& choice : allocated_.front) {
      add_row(choice, number(choice.predicted));
      add_point("", choice);
    }
    add_row(*allocated_.original_of_front, {});
    for (const MeasuredChoice& uniform : allocated_.uniform) add_point(uniform.name.substr(kAllIn.size()), uniform);
    add_point("the plan", allocated_.chosen);
    return {"Front", {plot, table}};
  }

  // Every measured pair of tensor and format, with what was estimated before.
  Section sensitivity() const {
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
    for (const MeasuredTensor& t : allocated_.sensitivities) {
      table.rows.push_back({t.name, t.format, number(t.layer_error), number(t.estimate), number(t.output_error)});
      if (t.estimate > 0 && t.output_error > 0 && std::isfinite(t.output_error))
        plot.points.push_back({"", t.estimate, t.output_error});
    }
    return {"Sensitivity", {plot, table}};
  }

  Section time() const {
    const NumberStyle count{NumberFormat::integer, 0};
    const PlanSpeed& s = *allocated_.speed;
    return {
        "Time",
        {KeyValues{.key = "time",
                   .title = "The plan's file beside the original, each under its own compute type",
                   .items = {{"shape", "inputs", s.shape},
                             {"threads", "threads", number(static_cast<double>(allocated_.threads)), "", count},
                             {"original_ms", fmt::format("the original, {}", to_string(s.original_compute)),
                              number(s.original_ms, s.original_ms_ci95), "ms"},
                             {"plan_ms", fmt::format("the plan, {}", to_string(s.plan_compute)),
                              number(s.plan_ms, s.plan_ms_ci95), "ms"},
                             {"measured_ratio", "the plan / the original", number(s.share, s.share_ci95)},
                             {"predicted_ms", "the plan, estimated from steps", number(allocated_.predicted_ms), "ms"},
                             {"rounds", "interleaved rounds", number(s.rounds), "", count},
                             {"placements", "times set up anew", number(kPlacements), "", count}}}}};
  }

 private:
  static constexpr std::string_view kAllIn = "all in ", kUniform = "uniform ";

  static std::vector<Cell> row(const MeasuredChoice& choice) {
    std::vector<Cell> row = {choice.name, number(choice.average_bits), number(static_cast<double>(choice.bytes))};
    for (Cell& cell : distance_cells(choice.held_out, choice.selecting)) row.push_back(std::move(cell));
    return row;
  }

  std::string score_name() const {
    const std::string what = scale_.loss_name();
    return allocated_.lambda ? fmt::format("{} + {:g} bits", what, *allocated_.lambda) : what;
  }

  std::string beside_uniform() const {
    const WeighedChoice& plan = allocated_.trials[allocated_.best];
    if (allocated_.is_uniform)
      return fmt::format("The plan is {}: no mixture that was measured has less {} where it was chosen.", plan.origin,
                         score_name());
    if (!allocated_.least_uniform) return "No uniform choice meets the budget.";
    const std::string format = allocated_.least_uniform->origin.substr(kUniform.size());
    return fmt::format(
        "Where it was chosen, the uniform choice within the budget with the least {}, {}, has {:.3g}, the plan "
        "{:.3g}; held out, {}: {}.",
        score_name(), format, allocated_.least_uniform->score, plan.score, format,
        text_of(scale_, allocated_.least_uniform_held_out));
  }

  const AllocatedFormats& allocated_;
  const std::string& output_;
  const QualityScale& scale_;
};

}  // namespace

Record view_of(const AllocatedFormats& allocated, const std::string& output) {
  const Viewer viewer(allocated, output);
  Record record{
      .title = fmt::format("Number formats for {}", allocated.study.model),
      .findings = viewer.findings(),
      .sections = {{"Choice", {viewer.results(), viewer.plan()}}, {"Search", {viewer.trials_plot(), viewer.trials()}}},
      .machine = describe(environment()),
      .manifest = {input_entry(allocated.study.file), output_entry(facts_of_written(output))}};
  if (allocated.original_of_front) record.sections.push_back(viewer.front());
  if (allocated.estimates) record.sections.push_back(viewer.sensitivity());
  if (allocated.speed) record.sections.push_back(viewer.time());
  return record;
}

}  // namespace hone
