#include "device/x86/compiler.h"

#include "device/x86/linker.h"
#include "device/x86/machine.h"

namespace hone {

X86Compiler::X86Compiler(const X86Target& target, const CompilerOptions& options)
    : ObjectLibrary({.device = x86_device(target),
                     .machine = code_machine(target),
                     .code_target = code_target(target),
                     .make_loader = [] { return std::make_unique<Linker>(); }},
                    options) {}

}  // namespace hone
