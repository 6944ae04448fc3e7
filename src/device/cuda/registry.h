// The table of CUDA's implementations, collected by CMake.
#pragma once

#include <span>

#include "device/cuda/cuda_kernel.h"

namespace hone::device_cuda {

std::span<const CudaKernelDef* const> all();

const CudaKernelDef* find(const KernelDef& kernel);  // null where CUDA has none of the class

}  // namespace hone::device_cuda
