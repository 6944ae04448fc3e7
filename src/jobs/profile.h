// Where the time of a run goes, step by step, against what the machine can do.
#pragma once

#include <string>

#include "base/peaks.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

// Runs `repeats` times after a warm-up and takes each step's median. Also measures the same runs without profiling, so
// that the profiler's own cost shows. Threads above 1 scale the peaks.
Record profile(Session& session, const NamedTensors& inputs, const MachinePeaks& peaks, int threads, int repeats = 21);

}  // namespace hone
