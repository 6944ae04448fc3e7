// Code of convolutions on CUDA.
#pragma once

#include <string>

#include "device/cuda/conv/plan.h"

namespace hone {

class CudaEmitter;

void emit_cuda_conv(CudaEmitter& e, const CudaConvPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
