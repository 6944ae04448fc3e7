// The bias that makes up for what rounding a weight adds to the mean of a layer's output (Nagel et al., "Data-Free
// Quantization Through Weight Equalization and Bias Correction", 2019, with means that were measured).
#pragma once

#include "ir/statistics.h"
#include "ir/tensor.h"

namespace hone {

// bias + (before - after) E[x], f32 [N]; a bias without elements counts as zeros.
//   before, after  the weight as a matrix [N, K], plain or packed
Tensor corrected_bias(const Tensor& bias, const Tensor& before, const Tensor& after, const LayerStatistics& statistics);

}  // namespace hone
