// The table of all emitters, collected by CMake.
#pragma once

#include <span>

#include "codegen/llvm/emit_def.h"

namespace hone::codegen_llvm {

std::span<const EmitterDef* const> all();

const EmitterDef* find(const KernelDef& kernel);  // null when LLVM code is not generated for the class

}  // namespace hone::codegen_llvm
