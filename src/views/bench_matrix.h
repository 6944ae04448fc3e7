// The record of jobs/bench_matrix.h.
#pragma once

#include "jobs/bench_matrix.h"
#include "report/record.h"

namespace hone {

// Table "results" (form, median_ms, steps_ms, speed, gflops, bytes, gbytes): of one matrix; table "steps" as that of
// --op attention, of one run.
Record view_of(const MatrixResult& result);

}  // namespace hone
