// G g Gᵀ: the weights of a convolution as Winograd's algorithm multiplies them.
#pragma once

#include "kernels/conv/weight_steps.h"
#include "device/x86/conv/winograd.h"
#include "device/x86/gemm/panel_layout.h"
#include "ir/tensor.h"

namespace hone {

// Those of one panel of outputs, computed in double and rounded once: for each product a panel of [channel, output],
// one behind the other at `out`. `weights` are f32 or bf16, and lie by `steps`.
void transform_weights(const Winograd& w, const PanelLayout& layout, const Tensor& weights, const WeightSteps& steps,
                       int64_t panel, std::byte* out);

}  // namespace hone
