// Convolution kernels by Winograd's algorithm (winograd_shape.h).
#pragma once

#include <string>

#include "device/x86/conv/plan.h"
#include "device/x86/emitter.h"

namespace hone {

void emit_winograd(X86Emitter& e, const X86ConvPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
