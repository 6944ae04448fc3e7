// The trials of a study as TPE reads them: a column of values for each parameter, and the order of their losses, kept
// from trial to trial. A trial that has finished is read once.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "study/sampler.h"

namespace hone {

class TpeHistory {
 public:
  // Takes what is new. With `joint`, of running trials what they were given together too (tpe:relative_params).
  void update(const StudyView& study, bool joint);

  size_t rows() const { return numbers_.size(); }
  int64_t number(size_t row) const { return numbers_[row]; }
  TrialState state(size_t row) const { return states_[row]; }
  int64_t finished() const { return complete_and_pruned_; }  // complete and pruned
  // NaN where the trial has no such parameter; null where none has.
  const std::vector<double>* column(const std::string& name) const;

  // The rows of good trials and of the others, each from old to new; running ones are among the others, unless left
  // out.
  struct Split {
    std::vector<uint32_t> below, above;
  };
  Split split(size_t below, bool with_running, int64_t own) const;

  // Parameters with the same distribution in all complete and pruned trials, by name; more than one value possible.
  const std::map<std::string, DistributionPtr>& intersection() const { return intersection_; }
  // A partition of all parameters: what always comes together is one group.
  const std::vector<std::map<std::string, DistributionPtr>>& groups() const { return groups_; }

  const TrialRecord& trial(size_t row) const { return *trials_[row]; }

 private:
  void read(size_t row, bool joint);
  void finish(size_t row);
  std::vector<double>& column_for(const std::string& name);
  std::vector<uint32_t> first_of_objectives(std::vector<uint32_t> rows, size_t count) const;

  std::vector<Direction> directions_;
  std::vector<TrialPtr> trials_;
  std::vector<int64_t> numbers_;
  std::vector<TrialState> states_;
  std::vector<uint32_t> pending_;  // rows that have not finished
  std::unordered_map<std::string, std::vector<double>> columns_;
  std::vector<std::pair<double, uint32_t>> by_loss_;  // feasible complete ones of one objective, ascending
  std::vector<uint32_t> complete_;                    // the same of several objectives, by number
  std::vector<std::pair<double, uint32_t>> infeasible_;
  std::vector<uint32_t> pruned_;
  int64_t complete_and_pruned_ = 0;
  bool any_finished_ = false;
  std::map<std::string, DistributionPtr> intersection_;
  std::vector<std::map<std::string, DistributionPtr>> groups_;
};

}  // namespace hone
