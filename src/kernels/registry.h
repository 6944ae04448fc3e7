// The table of all kernel classes, collected by CMake.
#pragma once

#include <span>

#include "kernels/kernel.h"

namespace hone::kernels {

std::span<const KernelDef* const> all();  // sorted by name

}  // namespace hone::kernels
