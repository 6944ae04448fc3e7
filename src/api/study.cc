#include <hone/study.h>

#include "api/guarded.h"
#include "api/studies.h"
#include "nas/candidate_results.h"
#include "study/studies.h"

namespace hone::api {
namespace {

StudyTrial described(const TrialRecord& trial) {
  StudyTrial found{.number = trial.number,
                   .state = to_string(trial.state),
                   .parameters = {},
                   .values = trial.values,
                   .figures = figures_of(trial)};
  for (const TrialParameter& p : trial.parameters) found.parameters[p.name] = p.distribution->text(p.value);
  return found;
}

}  // namespace

Study described(const std::string& name, std::span<const Direction> directions, const TrialList* trials,
                std::span<const TrialPtr> best) {
  Study study{.name = name, .objectives = {}, .directions = {}, .trials = {}, .best = {}, .notes = {}};
  for (Direction direction : directions) study.directions.emplace_back(to_string(direction));
  if (trials)
    for (const TrialPtr& trial : *trials) study.trials.push_back(described(*trial));
  for (const TrialPtr& trial : best) study.best.push_back(trial->number);
  return study;
}

std::vector<std::string> list_studies(const std::string& storage) {
  return guarded([&] {
    std::vector<std::string> names;
    for (const StudyList::Entry& entry : hone::list_studies({storage, {}}).studies)
      names.push_back(entry.study.record.name);
    return names;
  });
}

Study open_study(const std::string& storage, const std::string& name) {
  return guarded([&] {
    const OpenedStudy opened =
        hone::open_study({storage, name.empty() ? std::vector<std::string>() : std::vector{name}});
    Study study = described(opened.record.name, opened.record.directions, opened.trials.get(), opened.best());
    study.objectives = opened.objectives();
    return study;
  });
}

void delete_study(const std::string& storage, const std::string& name) {
  guarded([&] { hone::delete_studies({storage, {name}}); });
}

}  // namespace hone::api
