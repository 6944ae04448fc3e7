#include "study/samplers/tpe_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "study/domination.h"
#include "study/python_json.h"

namespace hone {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a running trial was given together, as Optuna's workers tell each other: JSON in pieces.
Json joint_parameters(const TrialRecord& trial) {
  std::string text;
  if (!trial.system_attributes.is_object()) return nullptr;
  for (int i = 0;; ++i) {
    const auto piece = trial.system_attributes.find("tpe:relative_params:" + std::to_string(i));
    if (piece == trial.system_attributes.end() || !piece->is_string()) break;
    text += piece->get<std::string>();
  }
  if (text.empty()) return nullptr;
  try {
    return parse_python_json(text, "relative parameters");
  } catch (const Error&) {
    return nullptr;  // another worker has not written all of it yet
  }
}

// Pruned trials: the further they came the better, then by their last report.
std::pair<double, double> pruned_key(const TrialRecord& trial, bool maximize) {
  if (trial.intermediate.empty()) return {1, 0};
  const auto [step, value] = trial.intermediate.back();
  return {-static_cast<double>(step), std::isnan(value) ? kInfinity : maximize ? -value : value};
}

}  // namespace

const std::vector<double>* TpeHistory::column(const std::string& name) const {
  const auto at = columns_.find(name);
  return at == columns_.end() ? nullptr : &at->second;
}

std::vector<double>& TpeHistory::column_for(const std::string& name) {
  std::vector<double>& column = columns_[name];
  column.resize(numbers_.size(), kMissing);
  return column;
}

void TpeHistory::update(const StudyView& study, bool joint) {
  const bool same =
      numbers_.size() <= study.trials.size() &&
      std::ranges::all_of(pending_, [&](uint32_t row) { return study.trials[row]->number == numbers_[row]; }) &&
      (numbers_.empty() || study.trials[numbers_.size() - 1]->number == numbers_.back());
  if (!same) *this = {};  // a trial came in between those that were known
  directions_.assign(study.directions.begin(), study.directions.end());
  for (size_t row = numbers_.size(); row < study.trials.size(); ++row) {
    numbers_.push_back(study.trials[row]->number);
    states_.push_back(TrialState::waiting);
    trials_.push_back(study.trials[row]);
    pending_.push_back(static_cast<uint32_t>(row));
  }
  for (auto& [name, column] : columns_) column.resize(numbers_.size(), kMissing);
  const auto sorted = static_cast<std::ptrdiff_t>(by_loss_.size());
  std::erase_if(pending_, [&](uint32_t row) {
    trials_[row] = study.trials[row];
    read(row, joint);
    return is_finished(states_[row]);
  });
  std::sort(by_loss_.begin() + sorted, by_loss_.end());
  std::inplace_merge(by_loss_.begin(), by_loss_.begin() + sorted, by_loss_.end());
}

void TpeHistory::read(size_t row, bool joint) {
  const TrialRecord& trial = *trials_[row];
  states_[row] = trial.state;
  if (trial.state == TrialState::waiting || trial.state == TrialState::failed) return;
  if (trial.state == TrialState::running && joint) {
    const Json given = joint_parameters(trial);
    if (given.is_object())
      for (const auto& [name, value] : given.items()) {
        const auto known = intersection_.find(name);
        if (known == intersection_.end()) continue;
        try {
          column_for(name)[row] = known->second->inside(value, name);
        } catch (const Error&) {  // of another range: as if it were not there
        }
      }
  }
  for (const TrialParameter& p : trial.parameters) column_for(p.name)[row] = p.value;
  if (is_finished(trial.state)) finish(row);
}

void TpeHistory::finish(size_t row) {
  const TrialRecord& trial = *trials_[row];
  const auto at = static_cast<uint32_t>(row);
  ++complete_and_pruned_;
  const bool maximize = directions_[0] == Direction::maximize;
  if (const double violation = trial.violation(); violation > 0) {
    infeasible_.emplace_back(violation, at);
  } else if (trial.state == TrialState::pruned) {
    pruned_.push_back(at);
  } else if (trial.values.size() == directions_.size()) {
    const std::pair entry(maximize ? -trial.values[0] : trial.values[0], at);
    if (directions_.size() == 1) by_loss_.push_back(entry);  // update() puts it in its place
    else complete_.insert(std::ranges::upper_bound(complete_, at), at);
  }

  if (!any_finished_) {
    any_finished_ = true;
    for (const TrialParameter& p : trial.parameters) intersection_.emplace(p.name, p.distribution);
  } else {
    std::erase_if(intersection_, [&](const auto& entry) {
      const TrialParameter* p = trial.find(entry.first);
      return !p || (p->distribution != entry.second && !(*p->distribution == *entry.second));
    });
  }
  // Each group falls into what this trial has and what it has not; what is left of the trial is a new group.
  std::vector<std::map<std::string, DistributionPtr>> next;
  std::map<std::string, DistributionPtr> left;
  for (const TrialParameter& p : trial.parameters) left.emplace(p.name, p.distribution);
  for (const auto& group : groups_) {
    std::map<std::string, DistributionPtr> in, out;
    for (const auto& entry : group) (left.erase(entry.first) ? in : out).insert(entry);
    if (!in.empty()) next.push_back(std::move(in));
    if (!out.empty()) next.push_back(std::move(out));
  }
  if (!left.empty()) next.push_back(std::move(left));
  groups_ = std::move(next);
}

std::vector<uint32_t> TpeHistory::first_of_objectives(std::vector<uint32_t> rows, size_t count) const {
  if (count == 0 || count >= rows.size()) {
    if (count == 0) rows.clear();
    return rows;
  }
  std::vector<TrialPtr> trials;
  for (uint32_t row : rows) trials.push_back(trials_[row]);
  const Points points = losses_of(trials, directions_);
  const std::vector<int> ranks = domination_ranks(points);
  std::vector<uint32_t> chosen;
  for (int rank = 0; chosen.size() < count; ++rank) {
    std::vector<size_t> members;
    for (size_t i = 0; i < rows.size(); ++i)
      if (ranks[i] == rank) members.push_back(i);
    if (members.size() > count - chosen.size()) {
      Points of_rank;
      for (size_t i : members) of_rank.push_back(points[i]);
      std::vector<size_t> some;
      for (size_t i : hypervolume_subset(of_rank, count - chosen.size(), reference_point(of_rank)))
        some.push_back(members[i]);
      members = std::move(some);
    }
    for (size_t i : members) chosen.push_back(rows[i]);
  }
  return chosen;
}

TpeHistory::Split TpeHistory::split(size_t below, bool with_running, int64_t own) const {
  Split result;
  std::vector<bool> is_below(numbers_.size());
  const auto take = [&](const auto& rows, auto row_of) {
    for (const auto& entry : rows) {
      if (result.below.size() == below) return;
      is_below[row_of(entry)] = true;
      result.below.push_back(row_of(entry));
    }
  };
  const auto second = [](const auto& entry) { return entry.second; };
  if (directions_.size() == 1) take(by_loss_, second);
  else take(first_of_objectives(complete_, std::min(below, complete_.size())), [](uint32_t row) { return row; });
  if (result.below.size() < below && !pruned_.empty()) {
    std::vector<std::pair<std::pair<double, double>, uint32_t>> pruned;
    for (uint32_t row : pruned_)
      pruned.emplace_back(pruned_key(*trials_[row], directions_[0] == Direction::maximize), row);
    std::ranges::sort(pruned);
    take(pruned, second);
  }
  if (result.below.size() < below && !infeasible_.empty()) {
    auto infeasible = infeasible_;
    std::ranges::sort(infeasible);
    take(infeasible, second);
  }
  std::ranges::sort(result.below);
  for (uint32_t row = 0; row < numbers_.size(); ++row) {
    const TrialState state = states_[row];
    const bool counts = state == TrialState::complete || state == TrialState::pruned ||
                        (state == TrialState::running && with_running && numbers_[row] != own);
    if (counts && !is_below[row]) result.above.push_back(row);
  }
  return result;
}

}  // namespace hone
