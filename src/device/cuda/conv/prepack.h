// The weights of a convolution as its kernels read them: the tiles of a product, group after group.
#pragma once

#include "device/cuda/conv/plan.h"
#include "device/cuda/gemm/weight_tiles.h"

namespace hone {

void lay_out_conv(const CudaConvPlan& plan, const WeightTiles& tiles, const Tensor& weights, int threads,
                  std::byte* out);

}  // namespace hone
