// The table of x86's implementations, collected by CMake.
#pragma once

#include <span>

#include "device/x86/x86_kernel.h"

namespace hone::device_x86 {

std::span<const X86KernelDef* const> all();

const X86KernelDef* find(const KernelDef& kernel);  // null where x86 has none of the class

}  // namespace hone::device_x86
