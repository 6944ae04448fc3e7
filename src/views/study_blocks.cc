#include "views/study_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/study_drawings.h"
#include "study/importance.h"
#include "study/storage.h"
#include "study/study.h"

namespace hone {
namespace {

constexpr size_t kAxes = 10, kSlices = 6, kBars = 20, kCurves = 40;

// With a value for each objective, which another program's trial need not have.
std::vector<TrialPtr> complete(const StudyTrials& study) {
  std::vector<TrialPtr> all;
  for (const TrialPtr& t : *study.trials)
    if (t->state == TrialState::complete && t->values.size() == study.directions.size()) all.push_back(t);
  return all;
}

const char* state_text(TrialState state) {
  switch (state) {
    case TrialState::complete:
      return "complete";
    case TrialState::pruned:
      return "pruned";
    case TrialState::failed:
      return "failed";
    case TrialState::waiting:
      return "waiting";
    case TrialState::running:
      break;
  }
  return "running";
}

// 0 for the worst, 1 for the best, by rank.
std::vector<double> goodness(const std::vector<TrialPtr>& trials, Direction direction) {
  std::vector<size_t> order(trials.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return direction == Direction::maximize ? trials[i]->values[0] : -trials[i]->values[0];
  });
  std::vector<double> good(trials.size(), 0.5);
  for (size_t rank = 0; rank < order.size() && order.size() > 1; ++rank)
    good[order[rank]] = static_cast<double>(rank) / static_cast<double>(order.size() - 1);
  return good;
}

ParallelAxis axis_of(const std::string& name, const std::vector<TrialPtr>& trials) {
  ParallelAxis axis{.title = name};
  for (const TrialPtr& t : trials)
    if (const TrialParameter* p = t->find(name)) {
      axis.logarithmic = p->distribution->log;
      if (p->distribution->is_category())
        for (size_t i = 0; i < p->distribution->choices.size(); ++i)
          axis.labels.push_back(p->distribution->text(static_cast<double>(i)));
      break;
    }
  return axis;
}

Drawing parallel(const StudyTrials& study, const std::vector<Importance>& important, const std::string& suffix) {
  const std::vector<TrialPtr> trials = complete(study);
  std::vector<ParallelAxis> axes;
  for (size_t i = 0; i < std::min(important.size(), kAxes); ++i)
    axes.push_back(axis_of(important[i].parameter, trials));
  std::ranges::reverse(axes);  // what matters most stands beside the objective
  std::vector<std::string> names;
  for (const ParallelAxis& axis : axes) names.push_back(axis.title);
  for (const std::string& objective : study.objectives) axes.push_back({.title = objective});
  const std::vector<double> good = goodness(trials, study.directions[0]);
  std::vector<ParallelLine> lines;
  for (size_t i = 0; i < trials.size(); ++i) {
    ParallelLine line{.values = {}, .goodness = good[i]};
    for (const std::string& name : names) {
      const TrialParameter* p = trials[i]->find(name);
      line.values.push_back(p ? p->value : std::nan(""));
    }
    line.values.insert(line.values.end(), trials[i]->values.begin(), trials[i]->values.end());
    lines.push_back(std::move(line));
  }
  return parallel_drawing("parallel" + suffix, "Parameters of trials side by side", axes, lines);
}

// Numbers against the objective; of categories the median of each choice.
Block slice(const StudyTrials& study, const std::string& name, const std::string& suffix, size_t place) {
  const std::vector<TrialPtr> trials = complete(study);
  const std::string key = fmt::format("slice_{}{}", place, suffix),
                    title = fmt::format("{} by {}", study.objectives[0], name);
  const ParallelAxis axis = axis_of(name, trials);
  if (axis.labels.empty()) {
    ScatterPlot plot{.key = key,
                     .title = title,
                     .x = {.title = name, .logarithmic = axis.logarithmic},
                     .y = {.title = study.objectives[0]},
                     .points = {},
                     .pareto = false};
    for (const TrialPtr& t : trials)
      if (const TrialParameter* p = t->find(name)) plot.points.push_back({.x = p->value, .y = t->values[0]});
    return plot;
  }
  BarChart chart{.key = key, .title = title + ", medians", .value = {.title = study.objectives[0]}};
  for (size_t i = 0; i < axis.labels.size(); ++i) {
    std::vector<double> values;
    for (const TrialPtr& t : trials)
      if (const TrialParameter* p = t->find(name); p && p->value == static_cast<double>(i))
        values.push_back(t->values[0]);
    if (!values.empty()) chart.bars.push_back({fmt::format("{} ({})", axis.labels[i], values.size()), median(values)});
  }
  return chart;
}

std::vector<Block> timeline(const StudyTrials& study, const std::string& suffix) {
  std::vector<TimelineBar> bars;
  std::optional<int64_t> first;
  for (const TrialPtr& t : *study.trials)
    if (t->started && (!first || *t->started < *first)) first = t->started;
  std::vector<TrialPtr> begun;
  for (const TrialPtr& t : *study.trials)
    if (t->started && t->ended) begun.push_back(t);
  std::ranges::stable_sort(begun, {}, [](const TrialPtr& t) { return *t->started; });
  for (const TrialPtr& t : begun)
    bars.push_back({static_cast<double>(*t->started - *first) * 1e-6, static_cast<double>(*t->ended - *first) * 1e-6,
                    state_text(t->state), fmt::format("trial {}: {}", t->number, state_text(t->state))});
  if (bars.empty()) return {};
  return {timeline_drawing("timeline" + suffix, bars)};
}

std::vector<Block> on_the_way(const StudyTrials& study, const std::string& suffix) {
  LinePlot plot{.key = "intermediate" + suffix,
                .title = "Values on the way",
                .x = {.title = "step"},
                .y = {.title = study.objectives[0]},
                .lines = {}};
  for (const TrialPtr& t : *study.trials) {
    if (t->intermediate.size() < 2 || plot.lines.size() == kCurves) continue;
    Line line{.label = fmt::format("{}{}", t->number, t->state == TrialState::pruned ? ", pruned" : ""), .points = {}};
    for (const auto& [step, value] : t->intermediate)
      if (std::isfinite(value)) line.points.emplace_back(static_cast<double>(step), value);
    plot.lines.push_back(std::move(line));
  }
  if (plot.lines.empty()) return {};
  return {plot};
}

}  // namespace

std::vector<double> best_so_far(const TrialList& trials, Direction direction) {
  std::vector<double> curve;
  for (const TrialPtr& t : trials) {
    if (t->state != TrialState::complete || t->values.size() != 1 || t->violation() > 0) continue;
    const double value = t->values[0];
    curve.push_back(curve.empty()                      ? value
                    : direction == Direction::maximize ? std::max(value, curve.back())
                                                       : std::min(value, curve.back()));
  }
  return curve;
}

std::vector<Block> comparison_blocks(std::span<const StudyTrials> studies) {
  const StudyTrials& first = studies[0];
  // Of studies with other objectives each has a picture of its own scale.
  std::map<std::string, std::vector<const StudyTrials*>> by_objective;
  std::vector<std::string> order;
  for (const StudyTrials& study : studies) {
    const std::string key = fmt::format("{}", study.directions.size() == 1 ? study.objectives[0] : std::string());
    if (!by_objective.contains(key)) order.push_back(key);
    by_objective[key].push_back(&study);
  }
  std::vector<Block> blocks;
  for (const std::string& key : order) {
    if (key.empty()) continue;
    std::vector<StudyCurve> curves;
    for (const StudyTrials* study : by_objective[key]) {
      auto found = std::ranges::find(curves, study->group, &StudyCurve::label);
      if (found == curves.end()) found = curves.insert(curves.end(), {study->group, {}});
      found->runs.push_back(best_so_far(*study->trials, study->directions[0]));
    }
    const std::string suffix = order.size() > 1 ? fmt::format("_{}", blocks.size()) : "";
    blocks.push_back(best_so_far_drawing("best_so_far" + suffix, {.title = key}, curves));
  }
  if (first.directions.size() != 2) return blocks;
  ScatterPlot plot{.key = "objectives",
                   .title = "Objectives of complete trials",
                   .x = {.title = first.objectives[1]},
                   .y = {.title = first.objectives[0]},
                   .points = {},
                   .pareto = first.directions[0] == Direction::maximize && first.directions[1] == Direction::minimize};
  for (const StudyTrials& study : studies)
    for (const TrialPtr& t : complete(study))
      if (t->values.size() == 2)
        plot.points.push_back(
            {.x = t->values[1], .y = t->values[0], .group = studies.size() > 1 ? study.group : std::string()});
  if (plot.points.size() > 1) blocks.emplace_back(std::move(plot));
  return blocks;
}

std::vector<Block> study_blocks(const StudyTrials& study, const std::string& suffix) {
  if (study.directions.empty()) return timeline(study, suffix);
  std::vector<Block> blocks;
  const std::vector<Importance> important = importances(*study.trials, 0, 1);
  // Shares of 0 alone say that nothing can be told, as of one category whose choices were each tried once.
  if (std::ranges::any_of(important, [](const Importance& i) { return i.share > 0; })) {
    BarChart chart{
        .key = "importance" + suffix,
        .title = fmt::format("What decides {}: importance by permutation, random forest", study.objectives[0]),
        .value = {.title = "share"}};
    for (size_t i = 0; i < std::min(important.size(), kBars); ++i)
      chart.bars.push_back({important[i].parameter, important[i].share});
    blocks.emplace_back(std::move(chart));
  }
  if (!important.empty()) {
    blocks.emplace_back(parallel(study, important, suffix));
    for (size_t i = 0; i < std::min(important.size(), kSlices); ++i)
      if (important[i].share > 0) blocks.push_back(slice(study, important[i].parameter, suffix, i));
  }
  for (const auto& part : {on_the_way(study, suffix), timeline(study, suffix)})
    blocks.insert(blocks.end(), part.begin(), part.end());
  return blocks;
}

Record with_command(Record record, const std::string& command, const std::string& storage) {
  record.command = without_credentials(command);
  if (const auto warning = credentials_warning(storage)) record.findings.push_back("warning: " + *warning);
  return record;
}

}  // namespace hone
