// Plans in, machine code out, linked into this process.
#pragma once

#include "device/llvm/object_library.h"
#include "device/x86/x86_kernel.h"

namespace hone {

class X86Compiler : public ObjectLibrary {
 public:
  X86Compiler(const X86Target& target, const CompilerOptions& options);
};

inline KernelFn function_of(Code code) { return reinterpret_cast<KernelFn>(const_cast<void*>(code)); }

}  // namespace hone
