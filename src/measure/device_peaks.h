// What a device reaches by the kernels that graphs get there, for devices that measure nothing themselves.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/peaks.h"
#include "device/device.h"

namespace hone {

// Products of matrices in f32 and bf16, copies (what is read and what is written counted), and what a step costs that
// does nothing. Sizes grow until a step takes milliseconds or an eighth of the device's memory is in use; 0, or
// nothing, where the device has no kernel of its own. None for devices that compile nothing or lie in the host's
// memory.
std::optional<MachinePeaks> measure_device_peaks(const std::shared_ptr<Device>& device,
                                                 const std::optional<std::string>& cache_folder);

}  // namespace hone
