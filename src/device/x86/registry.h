// The table of all emitters, collected by CMake.
#pragma once

#include <span>

#include "device/x86/emit_def.h"

namespace hone::device_x86 {

std::span<const EmitterDef* const> all();

const EmitterDef* find(const KernelDef& kernel);  // null when LLVM code is not generated for the class

}  // namespace hone::device_x86
