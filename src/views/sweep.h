// What hone sweep shows and writes: of formats (views/format_sweep.h) or of pruning (views/prune_sweep.h).
#pragma once

#include <string>
#include <vector>

#include "jobs/sweep.h"
#include "report/record.h"

namespace hone {

// `folder`: where the files lie.
Record view_of(const SweepResult& result, const std::string& folder);

// Files of that folder, by their names in it: sweep.csv, sweep.html, and an .svg of each plot of the record.
std::vector<std::pair<std::string, std::string>> sweep_files(const SweepResult& result, const Record& record);

}  // namespace hone
