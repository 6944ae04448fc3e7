#include "nas/candidate_results.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/stop.h"

namespace hone {

Json figures_json(const Figures& figures) {
  Json json = Json::object();
  for (const auto& [name, value] : figures)
    if (std::isfinite(value)) json[name] = value;
  return json;
}

Figures figures_of(const TrialRecord& trial) {
  Figures figures;
  if (!trial.user_attributes.is_object()) return figures;
  const auto found = trial.user_attributes.find(kFiguresKey);
  if (found == trial.user_attributes.end() || !found->is_object()) return figures;
  for (const auto& [name, value] : found->items())
    if (value.is_number()) figures[name] = value.get<double>();
  return figures;
}

void CandidateResults::recall(Storage& storage) {
  const std::lock_guard lock(mutex_);
  for (const StudyRecord& study : storage.studies())
    for (const TrialPtr& trial : *storage.trials(study.id)) {
      if (trial->state != TrialState::complete || !trial->user_attributes.is_object()) continue;
      const auto candidate = trial->user_attributes.find(kCandidateKey);
      if (candidate == trial->user_attributes.end() || !candidate->is_string()) continue;
      known_.try_emplace(candidate->get<std::string>(),
                         Known{figures_of(*trial), fmt::format("{} {}", study.name, trial->number)});
    }
}

std::optional<CandidateResults::Known> CandidateResults::known_or_mine(const std::string& candidate,
                                                                       const std::set<std::string>& needed) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found = known_.find(candidate);
    if (found != known_.end() &&
        std::ranges::all_of(needed, [&](const std::string& name) { return found->second.figures.contains(name); }))
      return found->second;
    if (at_work_.insert(candidate).second) return std::nullopt;
    check_stop();
    changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
}

void CandidateResults::finish(const std::string& candidate, Known known) {
  const std::lock_guard lock(mutex_);
  known_[candidate] = std::move(known);
  at_work_.erase(candidate);
  changed_.notify_all();
}

void CandidateResults::abandon(const std::string& candidate) {
  const std::lock_guard lock(mutex_);
  at_work_.erase(candidate);
  changed_.notify_all();
}

}  // namespace hone
