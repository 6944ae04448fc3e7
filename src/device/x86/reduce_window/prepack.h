// Weights of a depthwise convolution: plain ones [C, taps] become f32 [taps, window_weight_pitch(C)], packed ones the
// panels of window_weights(). Where codes have a zero point, the sums of each channel's weights lie behind the taps.
#pragma once

#include "device/x86/gemm/plan.h"
#include "device/x86/target.h"
#include "kernels/reduce_window/plan.h"

namespace hone {

std::string prepack_key(const ReduceWindowPlan& plan, const X86Target& target);
int64_t prepacked_bytes(const ReduceWindowPlan& plan, const X86Target& target);
void prepack(const ReduceWindowPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out);
int64_t window_weight_pitch(int64_t channels);
X86GemmPlan window_weights(
    const ReduceWindowPlan& plan);  // whose panels, decoded one beside the other, are the plain weights

}  // namespace hone
