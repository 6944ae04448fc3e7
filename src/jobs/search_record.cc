#include "jobs/search_record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/shell.h"
#include "jobs/study_report.h"
#include "measure/environment.h"
#include "measure/statistics.h"
#include "search/storage.h"

namespace hone {
namespace {

constexpr size_t kListed = 20;  // of the best trials

NumberStyle style_of(const std::string& figure) {
  if (figure == "bytes" || figure == "memory") return {NumberFormat::bytes, 3};
  return {NumberFormat::significant, 5};
}

std::string parameters_text(const TrialRecord& trial) {
  std::string text;
  for (const TrialParameter& p : trial.parameters)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", p.name, p.distribution->text(p.value));
  return text;
}

int64_t count(const TrialList& trials, TrialState state) {
  return std::ranges::count(trials, state, [](const TrialPtr& t) { return t->state; });
}

std::vector<Direction> directions_of(const SearchRun& run) {
  std::vector<Direction> directions;
  for (const Objective& o : run.config().objectives) directions.push_back(o.direction);
  return directions;
}

// The best first; of several objectives the front, by the first of them.
std::vector<TrialPtr> ranked(const SearchRun& run, const TrialList& trials) {
  const std::vector<Direction> directions = directions_of(run);
  std::vector<TrialPtr> all;
  if (directions.size() > 1) all = pareto_front(trials, directions);
  else
    for (const TrialPtr& t : trials)
      if (t->state == TrialState::complete && t->violation() == 0) all.push_back(t);
  std::ranges::stable_sort(all, [&](const TrialPtr& a, const TrialPtr& b) {
    return directions[0] == Direction::maximize ? a->values[0] > b->values[0] : a->values[0] < b->values[0];
  });
  return all;
}

std::string attribute(const TrialRecord& trial, const char* key) {
  if (!trial.user_attributes.is_object() || !trial.user_attributes.contains(key)) return "";
  const Json& value = trial.user_attributes.at(key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string finding(const SearchRun& run, const TrialList& trials) {
  const std::vector<TrialPtr> best = ranked(run, trials);
  std::string text = fmt::format("{}: ", run.config().name);
  if (best.empty()) {
    text += "no candidate that meets the budget";
  } else if (run.config().objectives.size() > 1) {
    text += fmt::format("a front of {} candidates", best.size());
  } else {
    text += fmt::format("chosen by {}: trial {} with {:.5g}", run.config().objectives[0].text, best[0]->number,
                        best[0]->values[0]);
  }
  text += fmt::format("; {} trials complete", count(trials, TrialState::complete));
  const auto same = std::ranges::count_if(trials, [](const TrialPtr& t) { return !attribute(*t, kSameAsKey).empty(); });
  if (same > 0) text += fmt::format(" ({} of them known candidates)", same);
  if (const int64_t n = count(trials, TrialState::pruned)) text += fmt::format(", {} pruned", n);
  if (const int64_t n = count(trials, TrialState::failed)) text += fmt::format(", {} failed", n);
  return text;
}

std::vector<std::string> figure_names(const SearchRun& run) {
  std::vector<std::string> names(run.config().life.figures.begin(), run.config().life.figures.end());
  for (const char* always : {"bytes", "bits"})
    if (std::ranges::find(names, always) == names.end()) names.emplace_back(always);
  return names;
}

Table best_table(const SearchRun& run, const TrialList& trials, const std::string& key) {
  const std::vector<std::string> names = figure_names(run);
  Table table{.key = key,
              .title = run.config().objectives.size() > 1 ? "The front" : "Trials by their objective",
              .columns = {{.key = "number", .title = "trial"}}};
  const bool weighted =
      std::ranges::any_of(run.config().objectives, [](const Objective& o) { return o.terms.size() > 1; });
  if (weighted)
    for (const Objective& o : run.config().objectives)
      table.columns.push_back({.key = o.text, .title = o.text, .style = {NumberFormat::significant, 5}});
  for (const std::string& name : names) table.columns.push_back({.key = name, .title = name, .style = style_of(name)});
  table.columns.push_back({.key = "parameters", .title = "parameters", .prose = true});
  std::set<std::string> seen;  // a candidate that came up again is one
  for (const TrialPtr& trial : ranked(run, trials)) {
    if (table.rows.size() == kListed) break;
    if (!attribute(*trial, kSameAsKey).empty() && seen.contains(attribute(*trial, kCandidateKey))) continue;
    seen.insert(attribute(*trial, kCandidateKey));
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(std::to_string(trial->number));
    if (weighted)
      for (double value : trial->values) row.push_back(number(value));
    const Figures figures = figures_of(*trial);
    for (const std::string& name : names) row.push_back(figures.contains(name) ? number(figures.at(name)) : Cell());
    row.emplace_back(parameters_text(*trial));
  }
  return table;
}

// What the best of each study measures, side by side: as a table, and against bits where a larger figure is searched
// for.
std::vector<Block> best_of_studies(const std::vector<std::unique_ptr<SearchRun>>& runs,
                                   const std::vector<StudyTrials>& studies) {
  const std::vector<std::string> names = figure_names(*runs[0]);
  const auto metric = std::ranges::find_if(names, [](const std::string& n) { return figure_kind(n).larger_is_better; });
  Table table{.key = "studies",
              .title = "What each study chose",
              .columns = {{.key = "study", .title = "study"},
                          {.key = "trials", .title = "trials", .style = {NumberFormat::integer, 0}}}};
  for (const std::string& name : names) table.columns.push_back({.key = name, .title = name, .style = style_of(name)});
  ScatterPlot plot{.key = "best_by_bits", .title = "What each study chose, by its bits", .x = {.title = "bits"}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::vector<TrialPtr> best = ranked(*runs[i], *studies[i].trials);
    if (best.empty() || studies[i].directions.size() > 1) continue;
    const Figures figures = figures_of(*best[0]);
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(studies[i].name);
    row.push_back(number(static_cast<double>(studies[i].trials->size())));
    for (const std::string& name : names) row.push_back(figures.contains(name) ? number(figures.at(name)) : Cell());
    if (metric != names.end() && figures.contains(*metric) && figures.contains("bits"))
      plot.points.push_back({.label = studies[i].name, .x = figures.at("bits"), .y = figures.at(*metric)});
  }
  if (table.rows.size() < 2) return {};
  if (metric != names.end()) plot.y.title = *metric;
  // Where all have the same bits, these decide nothing.
  if (std::ranges::all_of(plot.points, [&](const Point& p) { return p.x == plot.points[0].x; })) return {table};
  return {table, plot};
}

Table failures_table(const TrialList& trials, const std::string& key) {
  Table table{.key = key,
              .title = "Failures",
              .columns = {{.key = "number", .title = "trial"},
                          {.key = "error", .title = "why", .prose = true},
                          {.key = "parameters", .title = "parameters", .prose = true}}};
  for (const TrialPtr& t : trials)
    if (const std::string error = attribute(*t, "error"); !error.empty())
      table.rows.push_back({std::to_string(t->number), error, parameters_text(*t)});
  return table;
}

// Sums over steps beside whole runs, of the candidates where both were measured.
Table latency_errors(const TrialList& trials, const std::string& key) {
  Table table{
      .key = key,
      .title = "Predicted latency against whole runs",
      .columns = {{.key = "number", .title = "trial"},
                  {.key = "predicted", .title = "predicted", .unit = "ms", .style = {NumberFormat::significant, 4}},
                  {.key = "measured", .title = "measured", .unit = "ms", .style = {NumberFormat::significant, 4}},
                  {.key = "error", .title = "error", .style = {NumberFormat::percent, 1}}},
      .note = "Predicted: the sum over the steps of the plan, each measured once. Measured: the median of runs."};
  for (const TrialPtr& t : trials) {
    const Figures figures = figures_of(*t);
    if (!attribute(*t, kSameAsKey).empty() || !figures.contains("predicted_latency") || !figures.contains("latency"))
      continue;
    const double predicted = figures.at("predicted_latency"), measured = figures.at("latency");
    table.rows.push_back(
        {std::to_string(t->number), number(predicted), number(measured), number(predicted / measured - 1)});
  }
  return table;
}

std::string latency_finding(const std::string& study, const Table& errors) {
  std::vector<double> predicted, measured, size;
  for (const std::vector<Cell>& row : errors.rows) {
    predicted.push_back(std::get<Number>(row[1]).value);
    measured.push_back(std::get<Number>(row[2]).value);
    size.push_back(std::abs(std::get<Number>(row[3]).value));
  }
  std::string text = fmt::format(
      "{}: predicted_latency of {} candidates that were run as a whole, too: its error is {:.1f} % in the median and "
      "{:.1f} % at most",
      study, size.size(), 100 * median(size), 100 * *std::ranges::max_element(size));
  if (size.size() > 2) text += fmt::format("; rank correlation {:.3f}", rank_correlation(predicted, measured));
  return text;
}

bool is_attached_output(const std::string& word) { return word.starts_with("-o") && word.size() > 2; }

// A file's place from every folder; addresses of servers and "memory" as they are.
std::string stored_at(const std::string& storage) {
  std::error_code unknown;
  if (storage.find(':') != storage.npos || !std::filesystem::exists(storage, unknown)) return storage;
  return std::filesystem::absolute(storage).lexically_normal().string();
}

// The command without what it writes and which trial it is about.
std::string rebuild_command(const SearchRun& run, const SearchModelOptions& options, int64_t number) {
  const std::set<std::string> with_value{"-o",        "--output",  "--report", "--study",
                                         "--storage", "--rebuild", "--trials", "--workers"};
  std::vector<std::string> words;
  bool skips = false;
  for (const std::string& word : shell_words(options.command)) {
    const bool is_value = std::exchange(skips, false);
    if (is_value || word == "--resume" || word == "--json" || is_attached_output(word)) continue;
    if (with_value.contains(word.substr(0, word.find('=')))) {
      skips = word.find('=') == word.npos;
      continue;
    }
    words.push_back(word);
  }
  for (const std::string& word :
       {std::string("--storage"), stored_at(without_credentials(options.storage)), std::string("--study"),
        run.config().name, std::string("--rebuild"), std::to_string(number), std::string("-o"),
        fmt::format("trial-{}.safetensors", number)})
    words.push_back(word);
  return shell_line(words);
}

StudyTrials trials_of(const SearchRun& run) {
  StudyTrials study{
      .name = run.config().name, .group = run.config().group, .directions = directions_of(run), .trials = run.trials()};
  for (const Objective& o : run.config().objectives) study.objectives.push_back(o.text);
  return study;
}

}  // namespace

Record search_record(const std::vector<std::unique_ptr<SearchRun>>& runs, const SearchModelOptions& options) {
  Record record{.title = fmt::format("Search for {}", runs[0]->config().fixed.model)};
  std::vector<StudyTrials> studies;
  for (const auto& run : runs) studies.push_back(trials_of(*run));
  record.sections.push_back({.title = "Studies", .blocks = comparison_blocks(studies)});
  for (Block& block : best_of_studies(runs, studies)) record.sections.back().blocks.push_back(std::move(block));
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto& run = runs[i];
    const auto& trials = studies[i].trials;
    const std::string suffix = runs.size() > 1 ? "_" + run->config().name : "";
    record.findings.push_back(finding(*run, *trials));
    for (const std::string& note : run->notes()) record.findings.push_back(note);
    Section section{.title = run->config().name, .blocks = {best_table(*run, *trials, "best" + suffix)}};
    if (Table errors = latency_errors(*trials, "predicted_latency" + suffix); !errors.rows.empty()) {
      record.findings.push_back(latency_finding(run->config().name, errors));
      section.blocks.emplace_back(std::move(errors));
    }
    if (Table failures = failures_table(*trials, "failures" + suffix); !failures.rows.empty())
      section.blocks.emplace_back(std::move(failures));
    for (Block& block : study_blocks(studies[i], suffix)) section.blocks.push_back(std::move(block));
    record.sections.push_back(std::move(section));
    if (const std::vector<TrialPtr> best = ranked(*run, *trials); !best.empty() && options.storage != "memory")
      record.next.push_back({fmt::format("trial {} of {} is made again by this, others by their numbers",
                                         best[0]->number, run->config().name),
                             rebuild_command(*run, options, best[0]->number)});
  }
  if (const std::string data = runs[0]->data_title(); !data.empty())
    record.findings.push_back("judged on " + data + "; what was chosen by them is worth a little less on others");
  record.machine = describe(environment());
  return record;
}

Record rebuild_record(const SearchRun& run, const TrialRecord& trial, const Figures& now,
                      const SearchModelOptions& options) {
  const Figures before = figures_of(trial);
  Table table{.key = "figures",
              .columns = {{.key = "figure", .title = "figure"},
                          {.key = "before", .title = "in the study", .style = {NumberFormat::significant, 6}},
                          {.key = "now", .title = "made again", .style = {NumberFormat::significant, 6}}}};
  for (const auto& [name, value] : now)
    table.rows.push_back({name, before.contains(name) ? number(before.at(name)) : Cell(), number(value)});
  return {
      .title = fmt::format("Trial {} of {}", trial.number, run.config().name),
      .findings = {fmt::format("{}: {}", options.output, parameters_text(trial))},
      .sections = {{.blocks = {table}}},
      .machine = describe(environment()),
      .manifest = {{"output", options.output, sha256_of_file(options.output), static_cast<int64_t>(now.at("bytes"))}}};
}

}  // namespace hone
