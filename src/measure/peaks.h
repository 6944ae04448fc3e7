// Measures what one thread of this machine can reach, as the yardstick for kernels.
#pragma once

#include <optional>
#include <string>

#include "base/peaks.h"

namespace hone {

// Takes about a second. Each figure is the best of many short repetitions: disturbances only ever lower one. Vector
// width and the bf16 figure follow cpu_features(); a figure that this CPU has no instruction for is 0.
MachinePeaks measure_peaks();

// measure_peaks(), remembered in `cache_folder` until the next boot or another CPU. A damaged or unwritable entry is
// measured anew.
MachinePeaks machine_peaks(const std::optional<std::string>& cache_folder);

}  // namespace hone
