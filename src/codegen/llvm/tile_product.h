// One strip of a matrix product by tile registers: up to 32 rows of bf16 times one panel of pairs.
#pragma once

#include "codegen/kernels/gemm/shape.h"
#include "codegen/llvm/emit.h"
#include "formats/format.h"

namespace hone {

// Adds a local function
//   void(a, w, scales, sums, a_row_bytes, before, height, configured)   pointers; i64 from a_row_bytes on, a pointer last
// that multiplies shape.block_k of `height` rows and stores the sums as f32 rows, or adds them to what is there where
// the shape adds blocks. before: the k in front of w, where scales are read. configured: the i64 that says for which
// height the thread's tiles are configured, at first 0.
//
// Rounding: of each step of 32 k sums of even and of odd k, each from 0 in the order of k, then their sum, which is added
// to those of the steps before. Subnormal operands and results count as 0.
llvm::Function* emit_tile_product(Emitter& e, const std::string& symbol, const GemmShape& shape, const Format* format);

}  // namespace hone
