// The records of study/studies.h. `command`: what made them.
#pragma once

#include <string>
#include <vector>

#include "report/record.h"
#include "study/studies.h"

namespace hone {

Record view_of(const StudyList& list, const std::string& command);
// Directions, trials by state, the best, parameters with their ranges, and the history.
Record view_of(const OpenedStudy& study, const std::string& command);
Record view_of(const BestTrials& best, const std::string& command);
// With the best value after as many trials as all have.
Record view_of(const ComparedStudies& compared, const std::string& command);
Record view_of(const DeletedStudies& deleted, const std::string& command);

// Of parameters whose integers a double of the storage does not tell apart: what is shown need not be what was tried.
std::vector<std::string> rounding_notes(const OpenedStudy& study);

}  // namespace hone
