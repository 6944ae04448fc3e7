// An X86Target as LLVM is told of it.
#pragma once

#include <string>

#include "device/llvm/object_compiler.h"
#include "device/x86/target.h"

namespace hone {

CodeMachine code_machine(const X86Target& target);

// What else than its plan decides a kernel's code: all that the target has, the versions of LLVM and the generators.
std::string code_target(const X86Target& target);

}  // namespace hone
