#include "views/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "views/study_blocks.h"

namespace hone {
namespace {

std::string directions_text(std::span<const Direction> directions) {
  if (directions.empty()) return "no directions";
  std::string text;
  for (Direction d : directions)
    text += (text.empty() ? "" : ", ") + std::string(d == Direction::maximize   ? "maximize"
                                                     : d == Direction::minimize ? "minimize"
                                                                                : "not set");
  return text;
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

Table trials_table(const OpenedStudy& study, std::span<const TrialPtr> trials, std::string title) {
  Table table{.key = "trials", .title = std::move(title)};
  table.columns = {{.key = "number", .title = "trial"}};
  for (const std::string& name : study.objectives())
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

Table parameters_table(const OpenedStudy& study) {
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

Table best_table(const OpenedStudy& study, const std::vector<TrialPtr>& best) {
  return trials_table(study, best, best.size() == 1 ? "The best trial" : "The front");
}

// How the best value, or the front, came about.
std::vector<Block> history(const OpenedStudy& study) {
  const std::vector<std::string> names = study.objectives();
  if (names.size() == 1) {
    const BestSoFar curve = best_so_far(study);
    if (curve.size() < 2) return {};
    return {LinePlot{.key = "history",
                     .title = "Best so far",
                     .x = {.title = "complete trials"},
                     .y = {.title = names[0]},
                     .lines = {{study.record.name, curve}}}};
  }
  if (names.size() != 2) return {};
  ScatterPlot plot{.key = "front", .title = "Objectives of complete trials", .pareto = false};
  plot.x.title = names[0];
  plot.y.title = names[1];
  for (const TrialPtr& t : *study.trials)
    if (t->state == TrialState::complete && t->values.size() == 2)
      plot.points.push_back({.x = t->values[0], .y = t->values[1]});
  if (plot.points.size() < 2) return {};
  return {std::move(plot)};
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  for (std::string& line : more) all.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> rounding_notes(const OpenedStudy& study) {
  std::set<std::string> names;
  for (const TrialPtr& trial : *study.trials)
    for (const TrialParameter& p : trial->parameters)
      if (!p.distribution->is_exact()) names.insert(p.name);
  std::vector<std::string> notes;
  for (const std::string& name : names)
    notes.push_back(
        fmt::format("study {}: the storage keeps parameter {} as a float of 64 bits, so its values above 2^53 can't be "
                    "shown exactly; they are the nearest that such a float holds",
                    study.record.name, name));
  return notes;
}

Record view_of(const StudyList& list, const std::string& command) {
  Table table{.key = "studies",
              .columns = {{.key = "name", .title = "study"},
                          {.key = "directions", .title = "directions"},
                          {.key = "trials", .title = "trials", .style = {NumberFormat::integer, 0}},
                          {.key = "complete", .title = "complete", .style = {NumberFormat::integer, 0}},
                          {.key = "best", .title = "best", .style = {NumberFormat::significant, 6}}}};
  const size_t all = list.studies.size();
  std::vector<std::string> findings{fmt::format("{} {}", all, all == 1 ? "study" : "studies")};
  for (const auto& [study, problem] : list.studies) {
    const StudyRecord& record = study.record;
    if (!study.trials) {
      findings.push_back(fmt::format("study {} can't be read: {}", record.name, problem));
      table.rows.push_back({record.name, directions_text(record.directions), Cell(), Cell(), Cell()});
      continue;
    }
    append(findings, rounding_notes(study));
    const std::vector<TrialPtr> best = study.best();
    table.rows.push_back({record.name, directions_text(record.directions),
                          number(static_cast<double>(study.trials->size())),
                          number(static_cast<double>(study.count(TrialState::complete))),
                          best.empty()                   ? Cell()
                          : record.directions.size() > 1 ? Cell(fmt::format("front of {}", best.size()))
                                                         : number(best[0]->values[0])});
  }
  return with_command({.title = "Studies in " + without_credentials(list.storage),
                       .findings = std::move(findings),
                       .sections = {{.blocks = {table}}}},
                      command, list.storage);
}

Record view_of(const OpenedStudy& study, const std::string& command) {
  const std::vector<TrialPtr> best = study.best();
  Record record{.title = "Study " + study.record.name};
  record.findings.push_back(directions_text(study.record.directions) + "; " + trials_text(study));
  if (best.empty()) record.findings.push_back("no complete, feasible trial yet");
  append(record.findings, rounding_notes(study));
  Section section;
  if (!best.empty()) section.blocks.emplace_back(best_table(study, best));
  section.blocks.emplace_back(parameters_table(study));
  for (Block& block : history(study)) section.blocks.push_back(std::move(block));
  const StudyTrials trials{.name = study.record.name,
                           .group = study.record.name,
                           .objectives = study.objectives(),
                           .directions = study.record.directions,
                           .trials = study.trials};
  for (Block& block : study_blocks(trials, "")) section.blocks.push_back(std::move(block));
  record.sections.push_back(std::move(section));
  return with_command(std::move(record), command, study.storage);
}

Record view_of(const BestTrials& best, const std::string& command) {
  std::vector<std::string> findings{trials_text(best.study)};
  append(findings, rounding_notes(best.study));
  return with_command({.title = "Best of study " + best.study.record.name,
                       .findings = std::move(findings),
                       .sections = {{.blocks = {best_table(best.study, best.trials)}}}},
                      command, best.study.storage);
}

Record view_of(const ComparedStudies& compared, const std::string& command) {
  const size_t common = compared.common;
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
                .y = {.title = compared.studies[0].objectives()[0]}};
  std::vector<std::string> values;  // after as many trials of each
  for (size_t i = 0; i < compared.studies.size(); ++i) {
    const std::string& name = compared.studies[i].record.name;
    const BestSoFar& curve = compared.curves[i];
    table.rows.push_back({name, number(static_cast<double>(curve.size())),
                          curve.empty() ? Cell() : number(curve.back().second),
                          common == 0 ? Cell() : number(curve[common - 1].second)});
    plot.lines.push_back({name, curve});
    if (common > 0) values.push_back(fmt::format("{} {:.6g}", name, curve[common - 1].second));
  }
  Record record{.title = "Studies beside each other"};
  if (common == 0) record.findings.emplace_back("not every study has a complete, feasible trial yet");
  else
    record.findings.push_back(
        fmt::format("after {} complete trials each: {}; one run of each shows no difference between the methods",
                    common, fmt::join(values, ", ")));
  record.sections.push_back({.blocks = {table}});
  if (common > 1) record.sections.back().blocks.emplace_back(std::move(plot));
  return with_command(std::move(record), command, compared.studies[0].storage);
}

Record view_of(const DeletedStudies& deleted, const std::string& command) {
  Record record{.title = "Deleted from " + without_credentials(deleted.storage)};
  for (const auto& [name, trials] : deleted.studies)
    record.findings.push_back(fmt::format("study {} with {}", name,
                                          trials ? fmt::format("{} trials", *trials) : "trials that can't be read"));
  return with_command(std::move(record), command, deleted.storage);
}

}  // namespace hone
