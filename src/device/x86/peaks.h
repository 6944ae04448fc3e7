// Measures what one thread of this CPU can reach.
#pragma once

#include "base/peaks.h"

namespace hone {

// Takes about two seconds. Each figure is the best of many short repetitions: disturbances only ever make one worse.
// Vector width follows cpu_features(); a figure that this CPU has no instruction for is 0.
MachinePeaks measure_cpu_peaks();

}  // namespace hone
