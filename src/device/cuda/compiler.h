// Plans in, PTX and what a driver makes of it out.
#pragma once

#include <memory>

#include "device/cuda/context.h"
#include "device/cuda/target.h"
#include "device/llvm/object_library.h"

namespace hone {

// `context`: null where there is no GPU: code is made, and nothing of it can be launched.
std::unique_ptr<Compiler> make_cuda_compiler(const CudaTarget& target, std::shared_ptr<CudaContext> context,
                                             const CompilerOptions& options);

}  // namespace hone
