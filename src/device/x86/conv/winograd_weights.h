// G g Gᵀ: the weights of a convolution as Winograd's algorithm multiplies them.
#pragma once

#include "device/x86/conv/winograd.h"
#include "device/x86/gemm/shape.h"
#include "ir/tensor.h"

namespace hone {

// Those of one panel of outputs, computed in double and rounded once: for each product a panel of [channel, output],
// one behind the other at `out`. `weights` are f32 or bf16 [outputs, 9 * channels] or [outputs, channels, 3, 3]; of
// a turned plan [channels, outputs, 3, 3].
void transform_weights(const Winograd& w, const GemmShape& shape, const Tensor& weights, bool turned, int64_t panel,
                       std::byte* out);

}  // namespace hone
