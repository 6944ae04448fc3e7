// The table of all kernel classes, collected by CMake.
#pragma once

#include <span>

#include "codegen/kernel.h"

namespace hone::codegen {

std::span<const KernelDef* const> all();  // sorted by name

}  // namespace hone::codegen
