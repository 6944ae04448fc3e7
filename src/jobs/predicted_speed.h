// How long a run should take on this machine, from its steps and the machine's peaks, before anything is compiled.
#pragma once

#include "base/peaks.h"
#include "kernels/lower.h"

namespace hone {

struct PredictedSpeed {
  double low_ms = 0, high_ms = 0;  // of one inference on one thread of a machine that is otherwise idle
};

// Each step takes at least what the peaks allow it and at most what the least efficient kernel of its kind has been
// seen to take; bench/predicted_speed.py shows how often runs fall between the sums.
PredictedSpeed predict_speed(const Graph& graph, const LoweredGraph& lowered, const LowerOptions& options,
                             const MachinePeaks& peaks);

}  // namespace hone
