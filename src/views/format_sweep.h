// The record of jobs/format_sweep.h.
#pragma once

#include <string>

#include "jobs/format_sweep.h"
#include "report/record.h"

namespace hone {

// Findings; plots "curves" of quality over average bits by family, "width_curves" over the width of an element, where
// widths differ, "best_so_far"; the table "sweep", and "widths" where the model was trained in each format as well.
// `folder`: where the files lie.
Record view_of(const FormatSweep& sweep, const std::string& folder);

std::string csv(const FormatSweep& sweep);

}  // namespace hone
