#include "views/ship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/duration.h"
#include "base/shell.h"
#include "base/text.h"
#include "measure/claim.h"
#include "measure/environment.h"
#include "views/bench.h"
#include "views/probe_rounds.h"

namespace hone {
namespace {

constexpr NumberStyle kBytes{NumberFormat::bytes, 3}, kThree{NumberFormat::significant, 3};

std::string bytes_text(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// Bytes of what rides along count on both sides: they are those of whole files.
std::string size_line(const ShipResult& result) {
  const int64_t before = result.plan.original_bytes, after = result.saved.bytes;
  return fmt::format("size: {} → {} ({:.1f} %), whole files", bytes_text(before), bytes_text(after),
                     100 * static_cast<double>(after) / static_cast<double>(std::max<int64_t>(before, 1)));
}

std::string time_line(const BenchResult& timed) {
  const auto ms = [](const TimedModel& m) {
    const Interval ci = m.timing.median_ci95;
    return fmt::format("{:.4g} ms ({:.4g}-{:.4g})", m.timing.p50 * 1e-6, ci.low * 1e-6, ci.high * 1e-6);
  };
  return fmt::format("time: {} → {} for one run of batch {}: {}", ms(timed.models[0]), ms(timed.models[1]),
                     timed.models[0].batch, timed.models[1].comparison->verdict);
}

std::string memory_line(const BenchResult& timed) {
  const TimedModel &before = timed.models[0], &after = timed.models[1];
  if (before.probes.warm.empty())
    return fmt::format("memory: weights and activations {} → {}; what a process takes was not measured in this time",
                       bytes_text(before.weight_bytes + before.arena_bytes),
                       bytes_text(after.weight_bytes + after.arena_bytes));
  const auto peak = [](const TimedModel& m) {
    std::vector<double> peaks;
    for (const ProbeResult& probe : m.probes.warm) peaks.push_back(static_cast<double>(probe.peak_bytes));
    return human_bytes(median(peaks));
  };
  return fmt::format("memory: {} → {} at most, of a process that does nothing else", peak(before), peak(after));
}

std::string quality_line(const ShipResult& result) {
  if (!result.kind) {
    const auto& ci = result.judged.error_ci95;
    return fmt::format("outputs: {:.3g} of their squares differ{}, on {} that took no part in the choice",
                       result.judged.error, ci ? fmt::format(" ({:.3g}-{:.3g})", ci->low, ci->high) : "",
                       result.judged_on);
  }
  const FigureKind& kind = *result.kind;
  if (kind.follows_original)
    return fmt::format("{}: {}, output error {:.3g}, on {} that took no part in the choice", kind.title,
                       figure_text(kind, *result.judged.figure), result.judged.error, result.judged_on);
  return fmt::format("{}: {} → {}: {}, on {} that took no part in the choice", kind.title,
                     figure_text(kind, *result.original.figure), figure_text(kind, *result.judged.figure),
                     difference_text(kind, *result.judged.difference), result.judged_on);
}

// The next smaller file that was run, and what it lost.
std::string given_up_line(const ShipResult& result) {
  const TriedCandidate& chosen = result.plan.candidates[result.chosen];
  const TriedCandidate* next = nullptr;
  for (const TriedCandidate& c : result.plan.candidates)
    if (c.quality && !c.meets && c.bytes < chosen.bytes && (!next || c.bytes > next->bytes)) next = &c;
  if (!next) return {};
  std::string why;
  if (result.kind) {
    const Loss loss = loss_of(*next->quality, *result.kind);
    why = fmt::format("{} lost{}", value_text(*result.kind, loss.value),
                      loss.has_interval ? fmt::format(", at most {}", value_text(*result.kind, loss.at_most)) : "");
  } else {
    why = fmt::format("an output error of {:.3g}", next->quality->error);
  }
  return fmt::format("given up: {} ({}), with {} on the rows to choose on", bytes_text(next->bytes), next->name, why);
}

std::vector<std::string> verdict_lines(const ShipResult& result, const std::string& output) {
  const ShipPlan& plan = result.plan;
  const size_t count = plan.candidates.size();
  std::vector<std::string> lines{
      fmt::format("{}: {}{}, in {}{}", output, plan.candidates[result.chosen].name,
                  count > 1 ? fmt::format(", chosen from {} candidates", count) : "", duration_text(result.seconds),
                  result.recalled > 0 ? " after what an earlier run had measured" : ""),
      size_line(result), time_line(result.timed), memory_line(result.timed), quality_line(result)};
  for (const std::string& sentence : result.kept) lines.push_back("promise: " + sentence);
  if (std::string line = given_up_line(result); !line.empty()) lines.push_back(std::move(line));
  lines.push_back("rows: " + plan.rows);
  if (!result.untried.empty())
    lines.push_back(fmt::format("not tried in {}: {} candidates, which the report names; more --time tries them",
                                duration_text(result.allowed_seconds), result.untried.size()));
  return lines;
}

// Higher is nearer to the original or to what is right, where the figure is read so.
std::optional<Number> height(const TriedCandidate& c, const std::optional<FigureKind>& kind) {
  if (!c.quality) return std::nullopt;
  if (kind && c.quality->figure && std::isfinite(c.quality->figure->value))
    return Number{c.quality->figure->value, c.quality->figure->ci95};
  if (kind || !(c.quality->error > 0) || !std::isfinite(c.quality->error)) return std::nullopt;
  return Number{-10 * std::log10(c.quality->error)};
}

std::string family(const Recipe& recipe) {
  if (!recipe.prune.empty()) return "pruned";
  if (!recipe.train.empty()) return "trained";
  return recipe.rule.empty() ? "one format" : "mixed";
}

ScatterPlot frontier(const ShipResult& result) {
  ScatterPlot plot{.key = "frontier",
                   .title = "Size of the file against its answers, on the rows to choose on",
                   .x = {.title = "file", .unit = "MB"},
                   .y = {.title = result.kind ? result.kind->title : "output SQNR", .unit = result.kind ? "" : "dB"},
                   .pareto = !result.kind || result.kind->larger_is_better};
  for (const TriedCandidate& c : result.plan.candidates)
    if (const auto y = height(c, result.kind))
      plot.points.push_back({c.name, static_cast<double>(c.bytes) * 1e-6, y->value, y->interval, family(c.recipe)});
  return plot;
}

std::string note_of(const TriedCandidate& c) {
  if (!c.fault.empty()) return c.fault;
  if (!c.quality) return "its size rules it out";
  return "";
}

Cell share_cell(const Speed& speed) {
  return std::isfinite(speed.share_ci95.high) ? number(speed.share, speed.share_ci95) : number(speed.share);
}

// A column in which nothing stands.
void drop_column(Table& table, const std::string& key) {
  const auto column = std::ranges::find(table.columns, key, &Column::key);
  const auto at = column - table.columns.begin();
  table.columns.erase(column);
  for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
}

Table candidate_table(const std::vector<TriedCandidate>& candidates, const std::optional<FigureKind>& kind) {
  const NumberStyle style = kind && kind->is_share ? NumberStyle{NumberFormat::percent, 2} : kThree;
  Table table{.key = "candidates",
              .title = "Candidates, on the rows to choose on",
              .columns = {{"name", "candidate"},
                          {"bytes", "file", "", kBytes},
                          {"figure", kind ? kind->title : "figure", "", style},
                          {"output_error", "output error", "", kThree},
                          {"ms", "time", "ms", kThree},
                          {"share_of_time", "of the original's time", "", kThree},
                          {"meets", "keeps the promises"},
                          {"seconds", "measured in", "s", kThree},
                          {"note", "note", "", {}, "", true}},
              .note =
                  "Times are quick ones, of one placement in memory; those of the written file are below. Output "
                  "error: sum of squared differences to the original's outputs over the sum of their squares."};
  for (const TriedCandidate& c : candidates) {
    const bool has_figure = c.quality && c.quality->figure && std::isfinite(c.quality->figure->value);
    table.rows.push_back({c.name, c.bytes > 0 ? number(static_cast<double>(c.bytes)) : Cell(),
                          has_figure ? Cell(Number{c.quality->figure->value, c.quality->figure->ci95}) : Cell(),
                          c.quality && std::isfinite(c.quality->error) ? number(c.quality->error) : Cell(),
                          c.speed ? number(c.speed->ms) : Cell(), c.speed ? share_cell(*c.speed) : Cell(),
                          c.quality ? Cell(std::string(c.meets ? "yes" : "no")) : Cell(), number(c.seconds),
                          note_of(c)});
  }
  if (!kind) drop_column(table, "figure");
  if (std::ranges::all_of(candidates, [](const TriedCandidate& c) { return note_of(c).empty(); }))
    drop_column(table, "note");
  return table;
}

Table untried_table(const std::vector<std::string>& names) {
  Table table{.key = "untried", .title = "Not tried for lack of time", .columns = {{"name", "candidate"}}};
  for (const std::string& name : names) table.rows.push_back({name});
  return table;
}

}  // namespace

Record view_of(const ShipResult& result, const Model& model, const std::string& output) {
  Record timed = view_of(result.timed);
  Record record{.title = fmt::format("{} shipped", model.name),
                .findings = verdict_lines(result, output),
                .sections = {{"Candidates", {frontier(result), candidate_table(result.plan.candidates, result.kind)}}},
                .machine = std::move(timed.machine),
                .manifest = std::move(timed.manifest)};
  if (!result.untried.empty()) record.sections[0].blocks.push_back(untried_table(result.untried));
  std::move(timed.sections.begin(), timed.sections.end(), std::back_inserter(record.sections));
  std::string about = fmt::format("{}\n\n{}\n\nWhat the choice was by: {}.", result.saved.check,
                                  fmt::join(timed.findings, "\n\n"), result.plan.objective);
  for (const std::string& note : result.saved.notes) about += "\n\n" + note;
  if (result.recalled > 0) about += fmt::format("\n\n{} measurements are of an earlier run.", result.recalled);
  record.sections.push_back({"The written file", {Text{about}, Text{result.config}}});
  record.manifest[1].role = "output";
  return record;
}

Record view_of(const ShipPlan& plan, const Model& model, const std::string& output) {
  Record record{
      .title = fmt::format("What hone ship would try on {}", model.name),
      .findings = {fmt::format("{} is not written: this is a dry run", output), "rows: " + plan.rows,
                   "chosen is " + plan.objective, fmt::format("size: {} now", bytes_text(plan.original_bytes))},
      .sections = {{"Formats", {}}},
      .machine = describe(environment())};
  Table table{.key = "formats",
              .title = "Files of one format each, before rounding methods, mixed plans and training",
              .columns = {{"name", "candidate"},
                          {"bytes", "file", "", kBytes},
                          {"meets", "within --max-size"},
                          {"note", "note", "", {}, "", true}}};
  for (const TriedCandidate& c : plan.candidates)
    table.rows.push_back({c.name, c.fault.empty() ? number(static_cast<double>(c.bytes)) : Cell(),
                          c.fault.empty() ? Cell(std::string(c.meets ? "yes" : "no")) : Cell(), c.fault});
  if (!plan.limits_size) drop_column(table, "meets");
  record.sections[0].blocks.push_back(std::move(table));
  return record;
}

std::string verdict_text(const Record& record) {
  std::string text;
  for (const std::string& line : record.findings) text += line + "\n";
  for (const NextCommand& next : record.next) text += fmt::format("{}: {}\n", next.what, next.command);
  return text;
}

}  // namespace hone
