// Code of quantizing kernels on CUDA (device/cuda/quantize/units.h).
#pragma once

#include <string>

#include "device/cuda/emitter.h"
#include "kernels/quantize/plan.h"

namespace hone {

void emit_quantize(CudaEmitter& e, const QuantizePlan& plan, const std::string& symbol);

}  // namespace hone
