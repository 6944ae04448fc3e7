#include "study/studies.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "study/study.h"

namespace hone {
namespace {

std::shared_ptr<Storage> open_to_read(const std::string& place) {
  return open_storage(place, {.may_create = false, .read_only = true, .wait_seconds = 10});
}

std::vector<OpenedStudy> open_studies(const StudiesOptions& options) {
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
  std::vector<OpenedStudy> studies;
  for (const std::string& name : names) {
    StudyRecord record = find_study(*storage, name);
    auto trials = storage->trials(record.id);
    studies.push_back({options.storage, std::move(record), std::move(trials)});
  }
  return studies;
}

// What can't be read can be deleted.
std::optional<size_t> trials_in(Storage& storage, int64_t study) {
  try {
    return storage.trials(study)->size();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

// Optuna's dashboard and its Study.set_metric_names name the objectives.
std::vector<std::string> OpenedStudy::objectives() const {
  std::vector<std::string> names;
  const Json& attributes = record.system_attributes;
  if (attributes.is_object() && attributes.contains("study:metric_names") &&
      attributes.at("study:metric_names").is_array())
    for (const Json& name : attributes.at("study:metric_names"))
      if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.size() == record.directions.size()) return names;
  names.clear();
  for (size_t i = 0; i < record.directions.size(); ++i)
    names.push_back(record.directions.size() == 1 ? "value" : fmt::format("value {}", i));
  return names;
}

std::vector<TrialPtr> OpenedStudy::best() const { return pareto_front(*trials, record.directions); }

int64_t OpenedStudy::count(TrialState state) const {
  return std::ranges::count(*trials, state, [](const TrialPtr& t) { return t->state; });
}

std::string trials_text(const OpenedStudy& study) {
  std::string text = fmt::format("{} trials", study.trials->size());
  for (const auto& [state, word] : {std::pair(TrialState::complete, "complete"),
                                    {TrialState::pruned, "pruned"},
                                    {TrialState::failed, "failed"},
                                    {TrialState::running, "running"},
                                    {TrialState::waiting, "waiting"}})
    if (const int64_t n = study.count(state)) text += fmt::format(", {} {}", n, word);
  return text;
}

StudyList list_studies(const StudiesOptions& options) {
  const std::shared_ptr<Storage> storage = open_to_read(options.storage);
  StudyList list{.storage = options.storage};
  for (StudyRecord& record : storage->studies()) {
    StudyList::Entry& entry = list.studies.emplace_back();
    try {
      entry.study.trials = storage->trials(record.id);
    } catch (const Error& e) {  // the others are listed all the same
      entry.problem = e.what();
    }
    entry.study.storage = options.storage, entry.study.record = std::move(record);
  }
  return list;
}

OpenedStudy open_study(const StudiesOptions& options) { return open_studies(options).at(0); }

BestTrials best_trials(const StudiesOptions& options) {
  BestTrials best{.study = open_study(options)};
  best.trials = best.study.best();
  if (best.trials.empty())
    fail("study \"{}\" has no complete, feasible trial yet ({})", best.study.record.name, trials_text(best.study));
  return best;
}

BestSoFar best_so_far(const OpenedStudy& study) {
  TrialList ended;
  for (const TrialPtr& t : *study.trials)
    if (t->state == TrialState::complete && t->values.size() == 1 && t->violation() == 0) ended.push_back(t);
  std::ranges::stable_sort(ended, {}, [](const TrialPtr& t) { return t->ended.value_or(0); });
  const bool maximize = study.record.directions[0] == Direction::maximize;
  BestSoFar curve;
  for (const TrialPtr& t : ended) {
    const double value = t->values[0];
    const double best = curve.empty() ? value
                        : maximize    ? std::max(value, curve.back().second)
                                      : std::min(value, curve.back().second);
    curve.emplace_back(static_cast<double>(curve.size() + 1), best);
  }
  return curve;
}

ComparedStudies compare_studies(const StudiesOptions& options) {
  if (options.names.size() < 2) fail("name the studies to compare, two or more");
  ComparedStudies compared{.studies = open_studies(options)};
  const StudyRecord& first = compared.studies[0].record;
  if (first.directions.size() != 1)
    fail("study \"{}\" has {} objectives; values of one can be compared", first.name, first.directions.size());
  compared.common = SIZE_MAX;
  for (const OpenedStudy& study : compared.studies) {
    if (study.record.directions != first.directions)
      fail("studies \"{}\" and \"{}\" have other directions", first.name, study.record.name);
    compared.curves.push_back(best_so_far(study));
    compared.common = std::min(compared.common, compared.curves.back().size());
  }
  return compared;
}

DeletedStudies delete_studies(const StudiesOptions& options) {
  if (options.names.empty()) fail("name the studies to delete; what is deleted can't be had back");
  const std::shared_ptr<Storage> storage = open_storage(options.storage, {.may_create = false, .wait_seconds = 10});
  std::vector<StudyRecord> studies;
  for (const std::string& name : options.names)
    studies.push_back(find_study(*storage, name));  // all are there, or none goes
  DeletedStudies deleted{.storage = options.storage};
  for (const StudyRecord& study : studies) {
    deleted.studies.push_back({study.name, trials_in(*storage, study.id)});
    storage->delete_study(study.id);
  }
  return deleted;
}

}  // namespace hone
