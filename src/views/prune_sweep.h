// The record of jobs/prune_sweep.h.
#pragma once

#include <string>

#include "jobs/prune_sweep.h"
#include "report/record.h"

namespace hone {

// Findings, a plot "curves" of quality over sparsity, and the table "sweep". `folder`: where the files lie.
Record view_of(const PruneSweep& sweep, const std::string& folder);

std::string csv(const PruneSweep& sweep);

}  // namespace hone
