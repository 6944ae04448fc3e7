// Measures what one thread of this machine can reach, as the yardstick for kernels.
#pragma once

#include <optional>
#include <string>

#include "base/peaks.h"

namespace hone {

// Takes about two seconds. Each figure is the best of many short repetitions: disturbances only ever make one worse.
// Vector width follows cpu_features(); a figure that this CPU has no instruction for is 0.
MachinePeaks measure_peaks();

// measure_peaks(), remembered in `cache_folder` until the next boot, another CPU or another version of hone. A damaged
// or unwritable entry is measured anew, and any with `fresh`. A file of that name that is another's stays as it is.
MachinePeaks machine_peaks(const std::optional<std::string>& cache_folder, bool fresh = false);

// What machine_peaks() would remember, without measuring; none before the first time.
std::optional<MachinePeaks> remembered_peaks(const std::optional<std::string>& cache_folder);

}  // namespace hone
