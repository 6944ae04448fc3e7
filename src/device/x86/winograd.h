// Convolution kernels by Winograd's algorithm (winograd_shape.h).
#pragma once

#include <string>

#include "device/x86/emitter.h"
#include "kernels/conv/plan.h"

namespace hone {

void emit_winograd(X86Emitter& e, const ConvPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
