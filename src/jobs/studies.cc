#include "jobs/studies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "jobs/study_report.h"
#include "search/python_json.h"
#include "search/storage.h"
#include "search/study.h"
#include "search/timestamp.h"

namespace hone {
namespace {

struct OpenStudy {
  StudyRecord record;
  std::shared_ptr<const TrialList> trials;
};

std::shared_ptr<Storage> open_to_read(const std::string& place) {
  return open_storage(place, {.may_create = false, .read_only = true, .wait_seconds = 10});
}

std::vector<OpenStudy> open_studies(const StudiesOptions& options) {
  const std::shared_ptr<Storage> storage = open_to_read(options.storage);
  std::vector<std::string> names = options.names;
  if (names.empty()) {
    const std::vector<StudyRecord> all = storage->studies();
    if (all.size() != 1) {
      std::string known;
      for (const StudyRecord& study : all) known += (known.empty() ? "" : ", ") + study.name;
      fail("{}: holds {} studies; name one{}{}", storage->name(), all.size(), all.empty() ? "" : " of ", known);
    }
    names.push_back(all[0].name);
  }
  std::vector<OpenStudy> studies;
  for (const std::string& name : names) {
    StudyRecord record = find_study(*storage, name);
    auto trials = storage->trials(record.id);
    studies.push_back({std::move(record), std::move(trials)});
  }
  return studies;
}

int64_t count(const TrialList& trials, TrialState state) {
  return std::ranges::count(trials, state, [](const TrialPtr& t) { return t->state; });
}

std::string directions_text(std::span<const Direction> directions) {
  if (directions.empty()) return "no directions";
  std::string text;
  for (Direction d : directions)
    text += (text.empty() ? "" : ", ") + std::string(d == Direction::maximize   ? "maximize"
                                                     : d == Direction::minimize ? "minimize"
                                                                                : "not set");
  return text;
}

// What Optuna's dashboard and its Study.set_metric_names call the objectives.
std::vector<std::string> objective_names(const StudyRecord& study) {
  std::vector<std::string> names;
  const Json& attributes = study.system_attributes;
  if (attributes.is_object() && attributes.contains("study:metric_names") &&
      attributes.at("study:metric_names").is_array())
    for (const Json& name : attributes.at("study:metric_names"))
      if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.size() == study.directions.size()) return names;
  names.clear();
  for (size_t i = 0; i < study.directions.size(); ++i)
    names.push_back(study.directions.size() == 1 ? "value" : fmt::format("value {}", i));
  return names;
}

std::string parameters_text(const TrialRecord& trial) {
  std::string text;
  for (const TrialParameter& p : trial.parameters)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", p.name, p.distribution->text(p.value));
  return text;
}

Cell duration(const TrialRecord& trial) {
  if (!trial.started || !trial.ended) return {};
  return number(static_cast<double>(*trial.ended - *trial.started) * 1e-6);
}

Table trials_table(const OpenStudy& study, std::span<const TrialPtr> trials, std::string title) {
  Table table{.key = "trials", .title = std::move(title)};
  table.columns = {{.key = "number", .title = "trial"}};
  for (const std::string& name : objective_names(study.record))
    table.columns.push_back({.key = name, .title = name, .style = {NumberFormat::significant, 6}});
  table.columns.push_back({.key = "seconds", .title = "time", .unit = "s"});
  table.columns.push_back({.key = "parameters", .title = "parameters", .prose = true});
  for (const TrialPtr& trial : trials) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(std::to_string(trial->number));
    for (size_t i = 0; i < study.record.directions.size(); ++i)
      row.push_back(i < trial->values.size() ? number(trial->values[i]) : Cell());
    row.push_back(duration(*trial));
    row.emplace_back(parameters_text(*trial));
  }
  return table;
}

// The best value so far after each complete, feasible trial, in the order in which they ended.
std::vector<std::pair<double, double>> best_so_far(const OpenStudy& study) {
  TrialList ended;
  for (const TrialPtr& t : *study.trials)
    if (t->state == TrialState::complete && t->values.size() == 1 && t->violation() == 0) ended.push_back(t);
  std::ranges::stable_sort(ended, {}, [](const TrialPtr& t) { return t->ended.value_or(0); });
  const bool maximize = study.record.directions[0] == Direction::maximize;
  std::vector<std::pair<double, double>> curve;
  for (const TrialPtr& t : ended) {
    const double value = t->values[0];
    const double best = curve.empty() ? value
                        : maximize    ? std::max(value, curve.back().second)
                                      : std::min(value, curve.back().second);
    curve.emplace_back(static_cast<double>(curve.size() + 1), best);
  }
  return curve;
}

// Of parameters whose integers a double of the storage does not tell apart: what is shown need not be what was tried.
std::vector<std::string> rounding_notes(const std::string& study, const TrialList& trials) {
  std::set<std::string> names;
  for (const TrialPtr& trial : trials)
    for (const TrialParameter& p : trial->parameters)
      if (!p.distribution->is_exact()) names.insert(p.name);
  std::vector<std::string> notes;
  for (const std::string& name : names)
    notes.push_back(
        fmt::format("study {}: the storage keeps parameter {} as a float of 64 bits, so its values above 2^53 can't be "
                    "shown exactly; they are the nearest that such a float holds",
                    study, name));
  return notes;
}

std::string about(const OpenStudy& study) {
  const TrialList& all = *study.trials;
  std::string text = fmt::format("{} trials", all.size());
  for (const auto& [state, word] : {std::pair(TrialState::complete, "complete"),
                                    {TrialState::pruned, "pruned"},
                                    {TrialState::failed, "failed"},
                                    {TrialState::running, "running"},
                                    {TrialState::waiting, "waiting"}})
    if (const int64_t n = count(all, state)) text += fmt::format(", {} {}", n, word);
  return text;
}

Table parameters_table(const OpenStudy& study) {
  Table table{.key = "parameters",
              .title = "Parameters",
              .columns = {{.key = "name", .title = "parameter"},
                          {.key = "range", .title = "range", .prose = true},
                          {.key = "trials", .title = "trials", .style = {NumberFormat::integer, 0}}}};
  std::vector<std::string> order;
  std::map<std::string, std::pair<std::string, int64_t>> known;
  for (const TrialPtr& trial : *study.trials)
    for (const TrialParameter& p : trial->parameters) {
      const auto [at, added] = known.try_emplace(p.name, p.distribution->describe(), 0);
      if (added) order.push_back(p.name);
      ++at->second.second;
    }
  for (const std::string& name : order)
    table.rows.push_back({name, known[name].first, number(static_cast<double>(known[name].second))});
  return table;
}

std::string json_text(const TrialParameter& p) {
  const bool is_integer = p.distribution->kind == DistributionKind::integer;
  return is_integer ? p.distribution->text(p.value) : python_json(p.distribution->outside(p.value));
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string result = "\"";
  for (char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + '"';
}

// What can't be read can be deleted.
std::string trials_text(Storage& storage, int64_t study) {
  try {
    return fmt::format("{} trials", storage.trials(study)->size());
  } catch (const Error&) {
    return "trials that can't be read";
  }
}

}  // namespace

Record list_studies(const StudiesOptions& options) {
  const std::shared_ptr<Storage> storage = open_to_read(options.storage);
  Table table{.key = "studies",
              .columns = {{.key = "name", .title = "study"},
                          {.key = "directions", .title = "directions"},
                          {.key = "trials", .title = "trials", .style = {NumberFormat::integer, 0}},
                          {.key = "complete", .title = "complete", .style = {NumberFormat::integer, 0}},
                          {.key = "best", .title = "best", .style = {NumberFormat::significant, 6}}}};
  const std::vector<StudyRecord> all = storage->studies();
  std::vector<std::string> findings{fmt::format("{} {}", all.size(), all.size() == 1 ? "study" : "studies")};
  for (const StudyRecord& study : all) {
    std::shared_ptr<const TrialList> trials;
    try {
      trials = storage->trials(study.id);
    } catch (const Error& e) {  // the others are listed all the same
      findings.push_back(fmt::format("study {} can't be read: {}", study.name, e.what()));
      table.rows.push_back({study.name, directions_text(study.directions), Cell(), Cell(), Cell()});
      continue;
    }
    for (std::string& note : rounding_notes(study.name, *trials)) findings.push_back(std::move(note));
    const std::vector<TrialPtr> best = pareto_front(*trials, study.directions);
    table.rows.push_back({study.name, directions_text(study.directions), number(static_cast<double>(trials->size())),
                          number(static_cast<double>(count(*trials, TrialState::complete))),
                          best.empty()                  ? Cell()
                          : study.directions.size() > 1 ? Cell(fmt::format("front of {}", best.size()))
                                                        : number(best[0]->values[0])});
  }
  return with_command({.title = "Studies in " + without_credentials(options.storage),
                       .findings = std::move(findings),
                       .sections = {{.blocks = {table}}}},
                      options.command, options.storage);
}

Record show_study(const StudiesOptions& options) {
  const OpenStudy study = open_studies(options).at(0);
  const std::vector<TrialPtr> best = pareto_front(*study.trials, study.record.directions);
  Record record{.title = "Study " + study.record.name};
  record.findings.push_back(directions_text(study.record.directions) + "; " + about(study));
  if (best.empty()) record.findings.push_back("no complete, feasible trial yet");
  for (std::string& note : rounding_notes(study.record.name, *study.trials)) record.findings.push_back(std::move(note));
  Section section;
  if (!best.empty())
    section.blocks.emplace_back(trials_table(study, best, best.size() == 1 ? "The best trial" : "The front"));
  section.blocks.emplace_back(parameters_table(study));
  if (study.record.directions.size() == 1) {
    const auto curve = best_so_far(study);
    if (curve.size() > 1)
      section.blocks.emplace_back(LinePlot{.key = "history",
                                           .title = "Best so far",
                                           .x = {.title = "complete trials"},
                                           .y = {.title = objective_names(study.record)[0]},
                                           .lines = {{study.record.name, curve}}});
  } else if (study.record.directions.size() == 2) {
    ScatterPlot plot{.key = "front", .title = "Objectives of complete trials", .pareto = false};
    const auto names = objective_names(study.record);
    plot.x.title = names[0];
    plot.y.title = names[1];
    for (const TrialPtr& t : *study.trials)
      if (t->state == TrialState::complete && t->values.size() == 2)
        plot.points.push_back({.x = t->values[0], .y = t->values[1]});
    if (plot.points.size() > 1) section.blocks.emplace_back(std::move(plot));
  }
  const StudyTrials trials{.name = study.record.name,
                           .group = study.record.name,
                           .objectives = objective_names(study.record),
                           .directions = study.record.directions,
                           .trials = study.trials};
  for (Block& block : study_blocks(trials, "")) section.blocks.push_back(std::move(block));
  record.sections.push_back(std::move(section));
  return with_command(std::move(record), options.command, options.storage);
}

Record best_trials(const StudiesOptions& options) {
  const OpenStudy study = open_studies(options).at(0);
  const std::vector<TrialPtr> best = pareto_front(*study.trials, study.record.directions);
  if (best.empty()) fail("study \"{}\" has no complete, feasible trial yet ({})", study.record.name, about(study));
  std::vector<std::string> findings = rounding_notes(study.record.name, *study.trials);
  findings.insert(findings.begin(), about(study));
  return with_command(
      {.title = "Best of study " + study.record.name,
       .findings = std::move(findings),
       .sections = {{.blocks = {trials_table(study, best, best.size() == 1 ? "The best trial" : "The front")}}}},
      options.command, options.storage);
}

Record compare_studies(const StudiesOptions& options) {
  if (options.names.size() < 2) fail("name the studies to compare, two or more");
  const std::vector<OpenStudy> studies = open_studies(options);
  const auto& directions = studies[0].record.directions;
  if (directions.size() != 1)
    fail("study \"{}\" has {} objectives; values of one can be compared", studies[0].record.name, directions.size());
  std::vector<std::vector<std::pair<double, double>>> curves;
  size_t common = SIZE_MAX;
  for (const OpenStudy& study : studies) {
    if (study.record.directions != directions)
      fail("studies \"{}\" and \"{}\" have other directions", studies[0].record.name, study.record.name);
    curves.push_back(best_so_far(study));
    common = std::min(common, curves.back().size());
  }
  Table table{.key = "studies",
              .columns = {{.key = "name", .title = "study"},
                          {.key = "trials", .title = "complete", .style = {NumberFormat::integer, 0}},
                          {.key = "best", .title = "best", .style = {NumberFormat::significant, 6}},
                          {.key = "best_at_common",
                           .title = fmt::format("best after {}", common),
                           .style = {NumberFormat::significant, 6}}}};
  LinePlot plot{.key = "history",
                .title = "Best so far",
                .x = {.title = "complete trials"},
                .y = {.title = objective_names(studies[0].record)[0]}};
  Record record{.title = "Studies beside each other"};
  std::vector<std::string> values;  // after as many trials of each
  for (size_t i = 0; i < studies.size(); ++i) {
    const auto& curve = curves[i];
    table.rows.push_back({studies[i].record.name, number(static_cast<double>(curve.size())),
                          curve.empty() ? Cell() : number(curve.back().second),
                          common == 0 ? Cell() : number(curve[common - 1].second)});
    plot.lines.push_back({studies[i].record.name, curve});
    if (common > 0) values.push_back(fmt::format("{} {:.6g}", studies[i].record.name, curve[common - 1].second));
  }
  if (common == 0) record.findings.emplace_back("not every study has a complete, feasible trial yet");
  else
    record.findings.push_back(
        fmt::format("after {} complete trials each: {}; one run of each shows no difference between the methods",
                    common, fmt::join(values, ", ")));
  record.sections.push_back({.blocks = {table}});
  if (common > 1) record.sections.back().blocks.emplace_back(std::move(plot));
  return with_command(std::move(record), options.command, options.storage);
}

std::string study_csv(const StudiesOptions& options) {
  const OpenStudy study = open_studies(options).at(0);
  for (const std::string& note : rounding_notes(study.record.name, *study.trials)) log(LogLevel::warning, note);
  std::vector<std::string> parameters, attributes;
  const auto add = [](std::vector<std::string>& all, const std::string& name) {
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  };
  for (const TrialPtr& trial : *study.trials) {
    for (const TrialParameter& p : trial->parameters) add(parameters, p.name);
    if (trial->user_attributes.is_object())
      for (const auto& [key, value] : trial->user_attributes.items()) add(attributes, key);
  }
  std::string csv = "number,state,started,ended";
  for (const std::string& name : objective_names(study.record)) csv += "," + quoted(name);
  for (const std::string& name : parameters) csv += "," + quoted("parameter " + name);
  for (const std::string& name : attributes) csv += "," + quoted("attribute " + name);
  for (const TrialPtr& trial : *study.trials) {
    csv += fmt::format("\n{},{},{},{}", trial->number, to_string(trial->state),
                       trial->started ? sql_time(*trial->started) : "", trial->ended ? sql_time(*trial->ended) : "");
    for (size_t i = 0; i < study.record.directions.size(); ++i)
      csv += "," + (i < trial->values.size() ? fmt::format("{}", trial->values[i]) : std::string());
    for (const std::string& name : parameters) {
      const TrialParameter* p = trial->find(name);
      const Json value = p ? p->distribution->outside(p->value) : Json();
      csv += "," + (p ? quoted(value.is_string() ? value.get<std::string>() : json_text(*p)) : std::string());
    }
    for (const std::string& key : attributes) {
      const bool has = trial->user_attributes.is_object() && trial->user_attributes.contains(key);
      const Json value = has ? trial->user_attributes.at(key) : Json();
      csv += "," + (has ? quoted(value.is_string() ? value.get<std::string>() : python_json(value)) : std::string());
    }
  }
  return csv + "\n";
}

Record delete_studies(const StudiesOptions& options) {
  if (options.names.empty()) fail("name the studies to delete; what is deleted can't be had back");
  const std::shared_ptr<Storage> storage = open_storage(options.storage, {.may_create = false, .wait_seconds = 10});
  std::vector<StudyRecord> studies;
  for (const std::string& name : options.names)
    studies.push_back(find_study(*storage, name));  // all are there, or none goes
  Record record{.title = "Deleted from " + without_credentials(options.storage)};
  for (const StudyRecord& study : studies) {
    const std::string trials = trials_text(*storage, study.id);
    storage->delete_study(study.id);
    record.findings.push_back(fmt::format("study {} with {}", study.name, trials));
  }
  return with_command(std::move(record), options.command, options.storage);
}

}  // namespace hone
