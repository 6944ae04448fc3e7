// A matrix product as CUDA plans it: the class's plan, and the tile that a block multiplies.
#pragma once

#include "kernels/gemm/plan.h"

namespace hone {

// How a block's warps share its part of the result. A warp has `row_tiles` x `column_tiles` squares of 16 x 16 sums.
// `warps_k` of them have the same sums, each of its own slabs of k, and are added up in the end, the first slab first.
// Bits follow from warps_k alone.
struct CudaTile {
  int warps_m = 1, warps_n = 1, warps_k = 1;
  int row_tiles = 1, column_tiles = 1;
  int stages = 2;  // of rows in shared memory
  static constexpr auto fields() {
    return std::tuple(field("warps_m", &CudaTile::warps_m), field("warps_n", &CudaTile::warps_n),
                      field("warps_k", &CudaTile::warps_k), field("row_tiles", &CudaTile::row_tiles),
                      field("column_tiles", &CudaTile::column_tiles), field("stages", &CudaTile::stages));
  }
  int warps() const { return warps_m * warps_n * warps_k; }
  int threads() const { return 32 * warps(); }
  int rows() const { return 16 * warps_m * row_tiles; }
  int columns() const { return 16 * warps_n * column_tiles; }
  bool operator==(const CudaTile&) const = default;
};

struct CudaGemmPlan : GemmPlan {
  using Extends = GemmPlan;
  CudaTile tile;
  static constexpr auto fields() {
    return std::tuple_cat(GemmPlan::fields(), std::tuple(field("tile", &CudaGemmPlan::tile)));
  }
};

}  // namespace hone
