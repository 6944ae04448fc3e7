// What came of the studies of a search, as tables and plots.
#pragma once

#include <memory>
#include <vector>

#include "jobs/search_run.h"

namespace hone {

Record search_record(const std::vector<std::unique_ptr<SearchRun>>& runs, const SearchModelOptions& options);

// Of a candidate that was made again: its figures beside those that it had.
Record rebuild_record(const SearchRun& run, const TrialRecord& trial, const Figures& now,
                      const SearchModelOptions& options);

}  // namespace hone
