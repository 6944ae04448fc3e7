// The table of all devices, collected by CMake.
#pragma once

#include <span>

#include "device/device.h"

namespace hone::device {

std::span<const DeviceDef* const> all();

}  // namespace hone::device
