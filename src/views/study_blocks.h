// Pictures and tables of a study's trials: what hone search and hone study show.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "report/record.h"
#include "study/trial_record.h"

namespace hone {

struct StudyTrials {
  std::string name, group;              // group: what studies that differ in their seeds have in common
  std::vector<std::string> objectives;  // names
  std::vector<Direction> directions;    // of each
  std::shared_ptr<const TrialList> trials;
};

// Of one objective: the best value so far of all studies in one picture, medians and spread over the seeds of a group.
// Of two: complete trials and their fronts.
std::vector<Block> comparison_blocks(std::span<const StudyTrials> studies);

// Importances, parallel coordinates, values by the parameters that matter most, values on the way, and when trials ran.
// `suffix` ends the keys of the blocks.
std::vector<Block> study_blocks(const StudyTrials& study, const std::string& suffix);

// With the command that made it, and a warning where the place of a storage shows a password to others.
Record with_command(Record record, const std::string& command, const std::string& storage);

// The best value so far after each complete, feasible trial, in the order of their numbers.
std::vector<double> best_so_far(const TrialList& trials, Direction direction);

}  // namespace hone
