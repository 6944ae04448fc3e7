// The record of jobs/allocate_formats.h.
#pragma once

#include <string>

#include "jobs/allocate_formats.h"
#include "report/record.h"

namespace hone {

// `output`: where the plan was written. Findings; tables "results" (the plan, uniform formats, the original; on samples
// that took no part in choosing), "plan", "trials_measured" with a plot, "front" with a plot, and how well estimates
// predict what was measured.
Record view_of(const AllocatedFormats& allocated, const std::string& output);

}  // namespace hone
