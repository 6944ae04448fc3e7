// What processes of their own took (jobs/probe_rounds.h), as cells of tables.
#pragma once

#include <vector>

#include "jobs/probe.h"
#include "report/record.h"

namespace hone {

// The median of a field, with its interval where there are rounds enough; nothing without rounds.
Cell median_cell(const std::vector<ProbeResult>& results, double ProbeResult::*field);
Cell median_cell(const std::vector<ProbeResult>& results, int64_t ProbeResult::*field);

}  // namespace hone
