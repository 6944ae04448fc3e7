// How attention kernels work on CUDA: what planner and generator agree on.
//
// A block is `rows` queries of heads that share keys, all of one batch: row r of a group of heads is query r % per_head
// of head r / per_head, so that few queries of several heads fill blocks together. It goes over the keys a tile at a
// time, through two stages of shared memory: the next tile is on its way while this one is multiplied. Scores, weights
// and sums never leave registers (Dao, "FlashAttention-2" (2023), algorithm 1), but for weights of f32, which the
// threads of a warp exchange. Threads share rows: each has some of the keys of a tile and of the columns of the result.
//
// bf16 is multiplied by tensor cores (products_mma.cc), a warp having 16 rows; anything else by fma in f32
// (products_fma.cc), which is also what codes are decoded to. Rows of shared memory are an odd number of 16-byte pieces
// apart, so that eight of them fall on all banks.
//
// Long keys of few rows fall into ranges, which are blocks of their own: each leaves its rows' states in shared memory
// of the group's steps, and they are joined in the order of the ranges. Tiles and ranges follow from the plan alone,
// and so do bits: no row's depend on what else is in its block.
#pragma once

#include "base/error.h"
#include "base/multiples.h"
#include "device/cuda/attention/plan.h"
#include "device/cuda/target.h"

namespace hone {

inline constexpr int kKeyLanes = 16;        // threads that share rows of f32; of bf16 they are four
inline constexpr int64_t kRangeKeys = 256;  // of a range; whole tiles of any size

struct CudaAttentionShape {
  CudaAttentionShape(const CudaAttentionPlan& plan, const CudaTarget& target);

  bool by_mma = false;
  int threads = 128, rows = 0, tile_keys = 0, stages = 2;
  int64_t key_columns = 0, value_columns = 0;  // of heads, filled up with zeros
  // Of shared memory, in bytes: from row to row, and where things are.
  int64_t key_stride = 0, value_stride = 0, weight_stride = 0;
  int64_t queries_offset = 0, keys_offset = 0, values_offset = 0, weights_offset = 0, shared_bytes = 0;
  int64_t element() const { return by_mma ? 2 : 4; }  // bytes of what is multiplied
  int64_t key_stage() const { return tile_keys * key_stride; }
  int64_t value_stage() const { return tile_keys * value_stride; }
  // What is kept of a block's rows: sums (f32) row by row, then the rows' sums of weights and largest scores.
  int64_t totals_offset() const { return rows * value_columns * 4; }
  int64_t largest_offset() const { return totals_offset() + rows * 4; }
  int64_t state_bytes() const { return round_up(largest_offset() + rows * 4, 16); }
};

// How rows and keys of given lengths fall into blocks.
struct CudaAttentionBlocks {
  CudaAttentionBlocks(const CudaAttentionPlan& plan, const CudaAttentionShape& shape, const CudaAttentionArgs& args);
  int64_t per_head = 1;  // rows
  int64_t blocks = 1;    // of rows of a group of heads
  int64_t ranges = 1;
  int64_t count = 0;  // of blocks, without ranges
};

int64_t attention_shared_bytes(const CudaAttentionPlan& plan, const CudaTarget& target, const CudaAttentionArgs& args);
Support cuda_attention_support(const CudaAttentionPlan& plan, const CudaTarget& target);

}  // namespace hone
