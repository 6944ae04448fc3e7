#include "labs/trials.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/error.h"
#include "labs/lab_results.h"

namespace hone {
namespace {

constexpr std::string_view kParameter = "parameter ";

LabTrial trial_of(const std::vector<std::string>& names, const std::vector<std::string>& row,
                  const std::string& source) {
  LabTrial trial;
  for (size_t c = 0; c < names.size(); ++c) {
    if (names[c] == "number")
      trial.number = json_get<int64_t>({{"number", parse_json(row[c], source)}}, "number", source);
    if (names[c].starts_with(kParameter) && !row[c].empty())
      trial.parameters[names[c].substr(kParameter.size())] = row[c];
    if (names[c] != "attribute figures" || row[c].empty()) continue;
    const Json figures = parse_json(row[c], source);
    for (const auto& [name, value] : figures.items())
      if (value.is_number()) trial.figures[name] = value.get<double>();
  }
  return trial;
}

}  // namespace

double LabTrial::figure(const std::string& name) const {
  const auto found = figures.find(name);
  return found == figures.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

std::vector<LabTrial> parse_trials(const std::string& csv, const std::string& source) {
  CsvReader rows(csv, source);
  std::vector<std::string> names, row;
  if (!rows.next(names)) fail("{}: no trials", source);
  const auto state = static_cast<size_t>(std::ranges::find(names, "state") - names.begin());
  std::vector<LabTrial> trials;
  while (rows.next(row)) {
    if (row.size() != names.size())
      fail("{}:{}: the row has {} cells, and {} columns have names", source, rows.line(), row.size(), names.size());
    if (state < row.size() && row[state] != "COMPLETE") continue;
    trials.push_back(trial_of(names, row, source));
  }
  if (trials.empty()) fail("{}: no trial is complete", source);
  return trials;
}

std::vector<LabStep> search_steps(const LabSearch& search, const LabPlaces& places) {
  const std::string storage = places.made(search.name) + ".db";
  LabStep step{.name = search.name, .what = search.what, .words = {"search"}, .makes = {storage}};
  step.words.insert(step.words.end(), search.words.begin(), search.words.end());
  step.words.insert(step.words.end(),
                    {"--config", search.config, "--threads", "2", "--storage", storage, "--resume", "--json"});
  if (places.quick && search.quick_trials > 0)
    step.words.insert(step.words.end(), {"--trials", std::to_string(search.quick_trials)});
  std::vector<LabStep> steps{step};
  for (const std::string& study : search.studies)
    steps.push_back({.name = search.name + "-" + study,
                     .what = "trials of " + study,
                     .words = {"study", "export", storage, study},
                     .prints_json = false});
  return steps;
}

std::vector<LabTrial> trials_of(const LabResults& results, const std::string& search, const std::string& study) {
  const std::string step = search + "-" + study;
  return parse_trials(results.text(step), step);
}

double reward(const LabTrial& trial, double price) {
  return trial.figure("accuracy") - (price == 0 ? 0 : price * trial.figure("bits"));
}

const LabTrial& highest(const std::vector<LabTrial>& trials, double price) {
  return *std::ranges::max_element(trials, {}, [&](const LabTrial& t) { return reward(t, price); });
}

Line curve_so_far(const std::string& label, const std::vector<LabTrial>& trials, Curve curve, double price) {
  Line line{.label = label};
  const LabTrial* top = nullptr;
  for (const LabTrial& trial : trials) {
    if (!top || reward(trial, price) > reward(*top, price)) top = &trial;
    line.points.emplace_back(static_cast<double>(line.points.size() + 1),
                             curve == Curve::accuracy ? top->figure("accuracy") : reward(*top, price));
  }
  return line;
}

StudyCurve seeds_curve(const LabResults& results, const std::string& search, const std::string& label,
                       const std::vector<std::string>& studies) {
  StudyCurve curve{.label = label};
  for (const std::string& study : studies) {
    std::vector<double>& run = curve.runs.emplace_back();
    for (const auto& [trial, accuracy] : curve_so_far(study, trials_of(results, search, study), Curve::accuracy).points)
      run.push_back(accuracy);
  }
  return curve;
}

}  // namespace hone
