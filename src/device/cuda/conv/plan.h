// A convolution as CUDA plans it: for planes of any size, with the tile of its product.
#pragma once

#include "device/cuda/gemm/plan.h"
#include "kernels/conv/plan.h"

namespace hone {

struct CudaConvPlan : ConvPlan {
  using Extends = ConvPlan;
  CudaTile tile;
  static constexpr auto fields() {
    return std::tuple_cat(ConvPlan::fields(), std::tuple(field("tile", &CudaConvPlan::tile)));
  }
  CudaGemmPlan tiled_product() const { return {product, tile}; }  // of one group
};

}  // namespace hone
