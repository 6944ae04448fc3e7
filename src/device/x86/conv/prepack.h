// Weights of a convolution, [groups * n, k] or plain [groups * n, channels, height, width], of a turned plan
// [groups * channels, n, height, width]; one group's panels behind the other's.
#pragma once

#include "device/x86/conv/plan.h"
#include "device/x86/target.h"

namespace hone {

std::string prepack_key(const X86ConvPlan& plan, const X86Target& target);
int64_t prepacked_bytes(const X86ConvPlan& plan, const X86Target& target);
void prepack(const X86ConvPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out);

}  // namespace hone
