#include "views/search.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/shell.h"
#include "measure/environment.h"
#include "measure/statistics.h"
#include "nas/candidate_results.h"
#include "study/storage.h"
#include "views/study_blocks.h"

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

std::string attribute(const TrialRecord& trial, const char* key) {
  if (!trial.user_attributes.is_object() || !trial.user_attributes.contains(key)) return "";
  const Json& value = trial.user_attributes.at(key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string finding(const SearchedStudy& study) {
  const std::vector<TrialPtr> best = study.ranked();
  const TrialList& trials = *study.trials;
  std::string text = fmt::format("{}: ", study.name);
  if (best.empty()) {
    text += "no candidate that meets the budget";
  } else if (study.objectives.size() > 1) {
    text += fmt::format("a front of {} candidates", best.size());
  } else {
    text += fmt::format("chosen by {}: trial {} with {:.5g}", study.objectives[0].text, best[0]->number,
                        best[0]->values[0]);
  }
  text += fmt::format("; {} trials complete", count(trials, TrialState::complete));
  const auto same = std::ranges::count_if(trials, [](const TrialPtr& t) { return !attribute(*t, kSameAsKey).empty(); });
  if (same > 0) text += fmt::format(" ({} of them known candidates)", same);
  if (const int64_t n = count(trials, TrialState::pruned)) text += fmt::format(", {} pruned", n);
  if (const int64_t n = count(trials, TrialState::failed)) text += fmt::format(", {} failed", n);
  return text;
}

std::vector<std::string> figure_names(const SearchedStudy& study) {
  std::vector<std::string> names(study.figures.begin(), study.figures.end());
  for (const char* always : {"bytes", "bits"})
    if (std::ranges::find(names, always) == names.end()) names.emplace_back(always);
  return names;
}

Table best_table(const SearchedStudy& study, const std::string& key) {
  const std::vector<std::string> names = figure_names(study);
  Table table{.key = key,
              .title = study.objectives.size() > 1 ? "The front" : "Trials by their objective",
              .columns = {{.key = "number", .title = "trial"}}};
  const bool weighted = std::ranges::any_of(study.objectives, [](const Objective& o) { return o.terms.size() > 1; });
  if (weighted)
    for (const Objective& o : study.objectives)
      table.columns.push_back({.key = o.text, .title = o.text, .style = {NumberFormat::significant, 5}});
  for (const std::string& name : names) table.columns.push_back({.key = name, .title = name, .style = style_of(name)});
  table.columns.push_back({.key = "parameters", .title = "parameters", .prose = true});
  std::set<std::string> seen;  // a candidate that came up again is one
  for (const TrialPtr& trial : study.ranked()) {
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
std::vector<Block> best_of_studies(const std::vector<SearchedStudy>& studies) {
  const std::vector<std::string> names = figure_names(studies[0]);
  const auto metric = std::ranges::find_if(names, [](const std::string& n) { return figure_kind(n).larger_is_better; });
  Table table{.key = "studies",
              .title = "What each study chose",
              .columns = {{.key = "study", .title = "study"},
                          {.key = "trials", .title = "trials", .style = {NumberFormat::integer, 0}}}};
  for (const std::string& name : names) table.columns.push_back({.key = name, .title = name, .style = style_of(name)});
  ScatterPlot plot{.key = "best_by_bits", .title = "What each study chose, by its bits", .x = {.title = "bits"}};
  for (const SearchedStudy& study : studies) {
    const std::vector<TrialPtr> best = study.ranked();
    if (best.empty() || study.objectives.size() > 1) continue;
    const Figures figures = figures_of(*best[0]);
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(study.name);
    row.push_back(number(static_cast<double>(study.trials->size())));
    for (const std::string& name : names) row.push_back(figures.contains(name) ? number(figures.at(name)) : Cell());
    if (metric != names.end() && figures.contains(*metric) && figures.contains("bits"))
      plot.points.push_back({.label = study.name, .x = figures.at("bits"), .y = figures.at(*metric)});
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
std::string rebuild_command(const std::string& command, const std::string& storage, const std::string& study,
                            int64_t number) {
  const std::set<std::string> with_value{"-o",        "--output",  "--report", "--study",
                                         "--storage", "--rebuild", "--trials", "--workers"};
  std::vector<std::string> words;
  bool skips = false;
  for (const std::string& word : shell_words(command)) {
    const bool is_value = std::exchange(skips, false);
    if (is_value || word == "--resume" || word == "--json" || is_attached_output(word)) continue;
    if (with_value.contains(word.substr(0, word.find('=')))) {
      skips = word.find('=') == word.npos;
      continue;
    }
    words.push_back(word);
  }
  for (const std::string& word : {std::string("--storage"), stored_at(without_credentials(storage)),
                                  std::string("--study"), study, std::string("--rebuild"), std::to_string(number),
                                  std::string("-o"), fmt::format("trial-{}.safetensors", number)})
    words.push_back(word);
  return shell_line(words);
}

StudyTrials trials_of(const SearchedStudy& study) {
  StudyTrials all{.name = study.name, .group = study.group, .directions = study.directions(), .trials = study.trials};
  for (const Objective& o : study.objectives) all.objectives.push_back(o.text);
  return all;
}

// `suffix` ends the keys of the blocks; what the latencies that were predicted are worth goes to the findings.
Section section_of(const SearchedStudy& study, const std::string& suffix, std::vector<std::string>& findings) {
  Section section{.title = study.name, .blocks = {best_table(study, "best" + suffix)}};
  if (Table errors = latency_errors(*study.trials, "predicted_latency" + suffix); !errors.rows.empty()) {
    findings.push_back(latency_finding(study.name, errors));
    section.blocks.emplace_back(std::move(errors));
  }
  if (Table failures = failures_table(*study.trials, "failures" + suffix); !failures.rows.empty())
    section.blocks.emplace_back(std::move(failures));
  for (Block& block : study_blocks(trials_of(study), suffix)) section.blocks.push_back(std::move(block));
  return section;
}

}  // namespace

Record view_of(const SearchResult& result, const std::string& command) {
  Record record{.title = fmt::format("Search for {}", result.model)};
  std::vector<StudyTrials> all;
  for (const SearchedStudy& study : result.studies) all.push_back(trials_of(study));
  record.sections.push_back({.title = "Studies", .blocks = comparison_blocks(all)});
  for (Block& block : best_of_studies(result.studies)) record.sections.back().blocks.push_back(std::move(block));
  for (const SearchedStudy& study : result.studies) {
    record.findings.push_back(finding(study));
    record.findings.insert(record.findings.end(), study.notes.begin(), study.notes.end());
    const std::string suffix = result.studies.size() > 1 ? "_" + study.name : "";
    record.sections.push_back(section_of(study, suffix, record.findings));
    if (const std::vector<TrialPtr> best = study.ranked(); !best.empty() && result.storage != "memory")
      record.next.push_back(
          {fmt::format("trial {} of {} is made again by this, others by their numbers", best[0]->number, study.name),
           rebuild_command(without_credentials(command), result.storage, study.name, best[0]->number)});
  }
  if (!result.data_title.empty())
    record.findings.push_back("judged on " + result.data_title +
                              "; what was chosen by them is worth a little less on others");
  record.machine = describe(environment());
  return with_command(std::move(record), command, result.storage);
}

Record view_of(const RebuiltTrial& rebuilt, const std::string& command) {
  const Figures before = figures_of(*rebuilt.trial);
  Table table{.key = "figures",
              .columns = {{.key = "figure", .title = "figure"},
                          {.key = "before", .title = "in the study", .style = {NumberFormat::significant, 6}},
                          {.key = "now", .title = "made again", .style = {NumberFormat::significant, 6}}}};
  for (const auto& [name, value] : rebuilt.now)
    table.rows.push_back({name, before.contains(name) ? number(before.at(name)) : Cell(), number(value)});
  const auto bytes = static_cast<int64_t>(rebuilt.now.at("bytes"));
  return with_command({.title = fmt::format("Trial {} of {}", rebuilt.trial->number, rebuilt.study),
                       .findings = {fmt::format("{}: {}", rebuilt.output, parameters_text(*rebuilt.trial))},
                       .sections = {{.blocks = {table}}},
                       .machine = describe(environment()),
                       .manifest = {{"output", rebuilt.output, sha256_of_file(rebuilt.output), bytes}}},
                      command, rebuilt.storage);
}

}  // namespace hone
