// CUDA devices as LLVM is told of them.
#pragma once

#include <string>

#include "device/cuda/target.h"
#include "device/llvm/object_compiler.h"

namespace hone {

CodeMachine code_machine(const CudaTarget& target);  // code is PTX
std::string code_target(const CudaTarget& target);   // as object_key() takes it

}  // namespace hone
