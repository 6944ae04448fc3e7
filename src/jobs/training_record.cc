#include "jobs/training_record.h"

#include <fmt/format.h>

#include "measure/environment.h"
#include "report/number_text.h"

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3},
    kFigure{NumberFormat::significant, 4};
constexpr int64_t kMostClassesOfATable = 20;

NumberStyle style_of(const Metric& metric) {
  return metric.def->is_share ? NumberStyle{NumberFormat::percent, 2} : kFigure;
}

Cell metric_cell(const Validation& validation) {
  if (validation.estimate && validation.estimate->ci95) return number(validation.metric, *validation.estimate->ci95);
  return number(validation.metric);
}

Line curve(const TrainingOutcome& outcome, const std::string& split, const std::string& key) {
  Line line{.label = split, .points = {}};
  for (const LogEntry& entry : outcome.log)
    if (entry.split == split)
      for (const auto& [name, value] : entry.values)
        if (name == key) line.points.emplace_back(static_cast<double>(entry.step), value);
  return line;
}

void add_plot(std::vector<Block>& blocks, const TrainingOutcome& outcome, const std::string& key,
              const std::string& title) {
  LinePlot plot{.key = "curve_" + key, .title = title, .x = {.title = "step"}, .y = {.title = title}};
  for (const char* split : {"train", "validation"})
    if (Line line = curve(outcome, split, key); !line.points.empty()) plot.lines.push_back(std::move(line));
  if (!plot.lines.empty()) blocks.emplace_back(std::move(plot));
}

std::string class_name(const TrainingFacts& facts, int64_t c) {
  const auto at = static_cast<size_t>(c);
  return at < facts.classes.size() ? facts.classes[at] : fmt::format("class {}", c);
}

Table confusion_table(const TrainingFacts& facts, const Confusion& confusion) {
  Table table{
      .key = "confusion", .title = "What it takes for what, of the validation", .columns = {{"right", "right class"}}};
  for (int64_t c = 0; c < confusion.classes(); ++c)
    table.columns.push_back({fmt::format("as_{}", c), "as " + class_name(facts, c), "", kCount});
  for (int64_t right = 0; right < confusion.classes(); ++right) {
    table.rows.push_back({class_name(facts, right)});
    for (int64_t c = 0; c < confusion.classes(); ++c)
      table.rows.back().push_back(number(static_cast<double>(confusion.count(right, c))));
  }
  return table;
}

Table validation_table(const TrainingOutcome& outcome) {
  Table table{.key = "validation",
              .title = "Validation",
              .columns = {{"weights", "weights"},
                          {"step", "step", "", kCount},
                          {"loss", "loss", "", kFigure},
                          {"metric", outcome.metric.title(), "", style_of(outcome.metric)}}};
  const auto add = [&](const char* weights, const Validation& v) {
    table.rows.push_back({weights, number(static_cast<double>(v.step)), number(v.loss), metric_cell(v)});
  };
  add("chosen, which are written", *outcome.best);
  if (outcome.last && outcome.last->step != outcome.best->step) add("last", *outcome.last);
  return table;
}

KeyValues training_values(const TrainingFacts& facts, const TrainingOutcome& outcome) {
  const auto bytes = [](int64_t n) { return number(static_cast<double>(n)); };
  const TrainingMemory& m = facts.memory;
  KeyValues values{.key = "training", .title = "Training", .items = {}};
  values.items = {{"data", "data", facts.data},
                  {"steps", "steps", number(static_cast<double>(outcome.steps)), "", kCount},
                  {"seconds", "time", number(outcome.seconds), "s"},
                  {"trained", "weights that are trained", number(static_cast<double>(facts.trained)), "", kCount},
                  {"head", "new layer", facts.head.empty() ? Cell() : Cell(facts.head)},
                  {"planned", "memory of training, planned", bytes(m.total()), "", kBytes},
                  {"planned_values", "of these activations and gradients", bytes(m.values), "", kBytes},
                  {"planned_state", "of these the optimizer's state", bytes(m.state), "", kBytes},
                  {"planned_code", "of these machine code and what made it", bytes(m.code), "", kBytes},
                  {"resident", "memory above the process before, largest", bytes(facts.resident), "", kBytes},
                  {"folder", "checkpoints and logs", facts.folder}};
  return values;
}

}  // namespace

Record training_record(const TrainingFacts& facts, const TrainingOutcome& outcome) {
  std::string finding = fmt::format("{}: {} trained on {} for {} steps in {:.1f} s", facts.output, facts.model,
                                    facts.data, outcome.steps, outcome.seconds);
  if (outcome.best)
    finding += fmt::format("; {} {} on {} validation samples, with the weights of step {}", outcome.metric.title(),
                           cell_text(metric_cell(*outcome.best), style_of(outcome.metric)),
                           outcome.best->estimate ? outcome.best->estimate->samples : 0, outcome.best->step);
  Record record{.title = fmt::format("{} trained", facts.model),
                .command = facts.command,
                .findings = {finding},
                .sections = {},
                .machine = describe(environment()),
                .manifest = {}};
  record.findings.insert(record.findings.end(), facts.notes.begin(), facts.notes.end());
  if (!outcome.ended.empty()) record.findings.push_back(outcome.ended);
  Section curves{"Curves", {}}, results{"Results", {}};
  results.blocks.emplace_back(training_values(facts, outcome));
  if (outcome.best) {
    results.blocks.emplace_back(validation_table(outcome));
    const auto& confusion = outcome.best->confusion;
    if (confusion && confusion->classes() <= kMostClassesOfATable)
      results.blocks.emplace_back(confusion_table(facts, *confusion));
  }
  add_plot(curves.blocks, outcome, "loss", "loss");
  add_plot(curves.blocks, outcome, outcome.metric.name(), outcome.metric.title());
  add_plot(curves.blocks, outcome, "rate", "rate");
  record.sections = {std::move(results), std::move(curves)};
  return record;
}

}  // namespace hone
