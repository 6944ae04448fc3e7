// The table of CUDA's implementations, collected by CMake.
#pragma once

#include <span>

namespace hone {

struct CudaKernelDef;  // whose header needs LLVM's, which the table does without
struct KernelDef;

namespace device_cuda {

std::span<const CudaKernelDef* const> all();

const CudaKernelDef* find(const KernelDef& kernel);  // null where CUDA has none of the class

}  // namespace device_cuda
}  // namespace hone
