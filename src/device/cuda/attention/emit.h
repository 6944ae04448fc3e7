// Code of attention kernels on CUDA (device/cuda/attention/shape.h).
#pragma once

#include <string>

#include "device/cuda/attention/plan.h"
#include "device/cuda/emitter.h"

namespace hone {

void emit_attention(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol);
void emit_attention_join(CudaEmitter& e, const CudaAttentionPlan& plan, const std::string& symbol);

}  // namespace hone
