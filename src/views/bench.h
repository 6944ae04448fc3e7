// What models take beside each other (jobs/bench.h), as a record.
#pragma once

#include "jobs/bench.h"
#include "report/record.h"

namespace hone {

// Table "results" (model batch threads compute median_ms ci95_ms ... peak_bytes), "comparison" when there are several
// models, "evaluation" where there are data (evaluation.h), "lab" on demand, and the machine.
Record view_of(const BenchResult& result);

Cell runs_cell(const std::optional<BreakEven>& pays);  // "pays after", with its interval; nothing where nothing pays

}  // namespace hone
