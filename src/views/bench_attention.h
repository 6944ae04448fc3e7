// The record of jobs/bench_attention.h.
#pragma once

#include "jobs/bench_attention.h"
#include "report/record.h"

namespace hone {

// Table "results" (form, median_ms, speed, mflop, gflops, bytes, scores_bytes), table "steps" (form, step, ops, ms,
// share, mflop, bytes, why).
Record view_of(const AttentionResult& result);

}  // namespace hone
