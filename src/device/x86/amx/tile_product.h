// One strip of a matrix product by tile registers: up to 32 rows, in two halves, times one panel, of bf16 and pairs or
// of codes and quads. Products of codes are exact.
//
// Rounding of bf16: of each step of 32 k sums of even and of odd k, each from 0 in the order of k, then their sum,
// which is added to those of the steps before. Subnormal operands and results count as 0.
#pragma once

#include "device/x86/amx/pending_strip.h"
#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"
#include "formats/format.h"

namespace hone {

// The first argument of all functions below is a kernel's tile_state(). Where there is a `pending` strip, sums stay in
// tiles, to be stored when the next strip begins or by its flush; else they are stored at once.

// Adds a local function
//   void(state, a, w, scales, sums, a_row_bytes, before, height, half, row)   pointers; i64 from a_row_bytes on
// that multiplies shape.block_k() of `height` rows and stores the sums as rows of f32 or i32, or adds them to what is
// there where the shape adds blocks. before: the k in front of w, where scales are read; of an activation whose blocks
// are added, the k there is to multiply. half: tile_half() of the tallest strip. row: the strip's first in its
// block of rows, by which it fetches its part of the next block of k.
llvm::Function* emit_tile_product(X86Emitter& e, const std::string& symbol, const GemmShape& shape,
                                  const Format* format, const PendingStrip* pending);
// Whether the products of a shape can leave their sums in tiles: vectors have no part in these.
bool keeps_sums_in_tiles(const GemmShape& shape);

// K in runs of `segment_bytes` of A that lie together, a multiple of kTileStepBytes: `segments_x` of them a_step_x
// bytes apart.
struct TileRuns {
  int64_t segment_bytes = 0, segments_x = 1, a_step_x = 0;
  int64_t a_row_bytes = 0;    // from pixel to pixel
  int64_t fetched_bytes = 0;  // of what is at `ahead`, beside each step
};

// Adds a local function
//   void(state, a, w, sums, ahead, a_step_y, count, rows, second, to_second)   pointers; i64 from a_step_y on
// that multiplies `count` times the runs, a_step_y bytes apart: `rows` rows at a, and as many to_second bytes behind
// whose sums begin at row `second`; none where that is 0. Beside them what is at `ahead` comes into the second-level
// cache.
llvm::Function* emit_tile_window(X86Emitter& e, const std::string& symbol, const GemmShape& shape, const TileRuns& runs,
                                 const PendingStrip& pending);

// What is multiplied is in scratch, a block of it at a time, and read more than once.
struct TileBlock {
  int rows = kTileRows;     // at most kTileRows
  int64_t columns = 0;      // of W, a multiple of kTileColumns
  int64_t k = 0;            // a multiple of kTileK; 0: given when called
  int64_t a_row_bytes = 0;  // 0: given when called
  int64_t sums_row_bytes = 0;
  bool accumulate = false;
};

// Adds a local function
//   void(state, a, w, sums, a_row_bytes, k)   pointers, then i64
// that stores A · W at `sums`, or adds it to what is there.
llvm::Function* emit_tile_block(X86Emitter& e, const std::string& symbol, const TileBlock& block);

// The halves of a strip: both have `rows`, and the second begins at row `second` of the strip; 0: there is none. Where
// the strip has fewer than both they share a row or two, so that tiles are configured once for all strips whose tallest
// is as tall.
struct TileHalves {
  llvm::Value *rows, *second;
};
llvm::Value* tile_half(X86Emitter& e, llvm::Value* tallest);  // their rows

}  // namespace hone
