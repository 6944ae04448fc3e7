// Looking at studies: which there are in a file, what became of their trials, and what was found.
#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace hone {

struct StudiesOptions {
  std::string storage;             // as open_storage takes it
  std::vector<std::string> names;  // where there is one study only, none is needed
  std::string command = {};
};

Record list_studies(const StudiesOptions& options);
// Directions, trials by state, the best, parameters with their ranges, and the history.
Record show_study(const StudiesOptions& options);
Record best_trials(const StudiesOptions& options);
// Studies of the same directions side by side, with the best value after as many trials as all have.
Record compare_studies(const StudiesOptions& options);
// Every trial as a row of CSV: number, state, times, values, parameters, user attributes.
std::string study_csv(const StudiesOptions& options);
// Deletes each named study; at least one must be named.
Record delete_studies(const StudiesOptions& options);

}  // namespace hone
