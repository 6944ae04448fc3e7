// Convolution kernels by Winograd's algorithm (winograd_shape.h).
#pragma once

#include <string>

#include "codegen/kernels/conv/plan.h"
#include "codegen/llvm/emit.h"

namespace hone {

void emit_winograd(Emitter& e, const ConvPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
