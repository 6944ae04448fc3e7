// Code of matrix products on CUDA.
#pragma once

#include <string>

#include "device/cuda/gemm/plan.h"

namespace hone {

class CudaEmitter;

void emit_cuda_gemm(CudaEmitter& e, const CudaGemmPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
