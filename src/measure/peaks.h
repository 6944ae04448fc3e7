// What the units and the memory of a device reach, as the yardstick for kernels: measured once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/peaks.h"
#include "device/device.h"

namespace hone {

// Device::measure_peaks(), or what measure_device_peaks() finds; those of the CPU for a device that has neither.
// Remembered in `cache_folder` until the next boot, another CPU or another version of hone. A damaged or unwritable
// entry is measured anew, and any with `fresh`. A file of that name that is another's stays as it is.
MachinePeaks machine_peaks(const std::shared_ptr<Device>& device, const std::optional<std::string>& cache_folder,
                           bool fresh = false);

// What machine_peaks() would remember of the CPU, without measuring; none before the first time.
std::optional<MachinePeaks> remembered_peaks(const std::optional<std::string>& cache_folder);

}  // namespace hone
