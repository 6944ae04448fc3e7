#include "views/train.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "measure/environment.h"
#include "views/how_trained.h"
#include "views/saved_model.h"

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3},
    kFigure{NumberFormat::significant, 4};
constexpr int64_t kMostClassesOfATable = 20;

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

std::string class_name(const std::vector<std::string>& classes, int64_t c) {
  const auto at = static_cast<size_t>(c);
  return at < classes.size() ? classes[at] : fmt::format("class {}", c);
}

Table confusion_table(const std::vector<std::string>& classes, const Confusion& confusion) {
  Table table{
      .key = "confusion", .title = "What it takes for what, of the validation", .columns = {{"right", "right class"}}};
  for (int64_t c = 0; c < confusion.classes(); ++c)
    table.columns.push_back({fmt::format("as_{}", c), "as " + class_name(classes, c), "", kCount});
  for (int64_t right = 0; right < confusion.classes(); ++right) {
    table.rows.push_back({class_name(classes, right)});
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

KeyValues training_values(const TrainedModel& trained) {
  const auto count = [](int64_t n) { return number(static_cast<double>(n)); };
  const TrainingMemory& m = trained.planned;
  KeyValues values{.key = "training", .title = "Training", .items = {}};
  values.items = {{"data", "data", fmt::format("{} rows of {}", trained.data_rows, trained.data)},
                  {"steps", "steps", count(trained.outcome.steps), "", kCount},
                  {"seconds", "time", number(trained.outcome.seconds), "s"},
                  {"trained", "weights that are trained", count(trained.trained_elems), "", kCount},
                  {"head", "new layer", trained.head.empty() ? Cell() : Cell(trained.head)},
                  {"planned", "memory of training, planned", count(m.total()), "", kBytes},
                  {"planned_values", "of these activations and gradients", count(m.values), "", kBytes},
                  {"planned_state", "of these the optimizer's state", count(m.state), "", kBytes},
                  {"planned_code", "of these machine code and what made it", count(m.code), "", kBytes},
                  {"resident", "memory above the process before, largest", count(trained.resident_bytes), "", kBytes},
                  {"folder", "checkpoints and logs", trained.folder}};
  return values;
}

Section results(const TrainedModel& trained) {
  Section results{"Results", {training_values(trained)}};
  const TrainingOutcome& outcome = trained.outcome;
  if (!outcome.best) return results;
  results.blocks.emplace_back(validation_table(outcome));
  const auto& confusion = outcome.best->confusion;
  if (confusion && confusion->classes() <= kMostClassesOfATable)
    results.blocks.emplace_back(confusion_table(trained.classes, *confusion));
  return results;
}

Section curves(const TrainingOutcome& outcome) {
  Section curves{"Curves", {}};
  add_plot(curves.blocks, outcome, "loss", "loss");
  add_plot(curves.blocks, outcome, outcome.metric.name(), outcome.metric.title());
  add_plot(curves.blocks, outcome, "rate", "rate");
  return curves;
}

}  // namespace

Record view_of(const TrainedModel& trained, const Model& original, const std::string& output, const SavedModel& saved) {
  Record record{.title = fmt::format("{} trained", original.name),
                .findings = {fmt::format("{}: {} {}", output, original.name,
                                         how_trained(trained.outcome, trained.data_rows, trained.data))},
                .sections = {results(trained), curves(trained.outcome)},
                .machine = describe(environment())};
  record.findings.insert(record.findings.end(), trained.notes.begin(), trained.notes.end());
  if (!trained.outcome.ended.empty()) record.findings.push_back(trained.outcome.ended);
  if (trained.is_rounded) record.findings.push_back(size_finding(output, saved, original));
  add_check(record, output, saved);
  if (!original.weight_files.empty())
    record.manifest.push_back({"input", original.path, trained.model_sha256, original.file_bytes});
  record.manifest.push_back({"data", trained.data, trained.data_sha256, trained.data_bytes});
  record.manifest.push_back({"output", output, sha256_of_file(output), saved.bytes});
  return record;
}

}  // namespace hone
