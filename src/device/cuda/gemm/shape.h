// What planner and code generator of CUDA's products agree on: which unit multiplies, how weights are read, the tile of
// a block, and the block's shared memory.
//
// A step takes a slab of k of each of the tile's warps_k: 64 of bf16, or 32 of f32, which are lines of 128 bytes in
// shared memory. Sixteen-byte pieces of a line stand where their number, exclusive-or the line's last three bits, says:
// eight lines beside each other at one k are in eight different groups of banks, and so are the pieces of one line.
//
// Items count rows first, then columns, then batches: neighbouring blocks read the same weights.
#pragma once

#include <string>

#include "device/cuda/gemm/plan.h"
#include "device/cuda/gemm/weight_tiles.h"
#include "device/cuda/target.h"
#include "device/launch.h"

namespace hone {

enum class CudaProducts : uint8_t {
  f32,  // multiply-adds, each sum in ascending k
  bf16  // mma.sync of bf16 with sums of f32
};

struct CudaGemmShape {
  CudaProducts products = CudaProducts::f32;
  CudaTile tile;
  WeightTiles weights;  // of constant ones

  static constexpr int64_t kLine = 128;  // bytes
  bool pairs() const { return products == CudaProducts::bf16; }
  int depth() const { return pairs() ? 64 : 32; }  // k of a slab
  int64_t a_slab_bytes() const { return tile.rows() * kLine; }
  int64_t w_slab_bytes = 0;  // in shared memory
  int64_t slab_bytes() const { return a_slab_bytes() + w_slab_bytes; }
  int64_t stage_bytes() const { return tile.warps_k * slab_bytes(); }
  // Sums of 16 rows of each warp, one warps_k behind the other. Rows are 32 bytes longer than they need: those of a
  // square of sums then are in different banks.
  int64_t sums_row_bytes() const { return (tile.columns() + 8) * 4; }
  int64_t sums_slab_bytes() const { return 16 * tile.warps_m * sums_row_bytes(); }
  int64_t shared_bytes() const;
};

Support cuda_gemm_support(const CudaGemmPlan& plan, const CudaTarget& target);
CudaProducts cuda_products(const GemmPlan& plan, const CudaTarget& target);
// The tile for products of m rows; bits follow from m only by whether there are up to kCudaFewRows.
CudaTile cuda_gemm_tile(const GemmPlan& plan, const CudaTarget& target, int64_t m, int64_t n);
CudaGemmShape cuda_gemm_shape(const CudaGemmPlan& plan, const CudaTarget& target);
std::string describe_gemm(const CudaGemmPlan& plan, const CudaTarget& target);

// Rows whose k is shared by the warps of a block.
constexpr int64_t kCudaFewRows = 16;

}  // namespace hone
