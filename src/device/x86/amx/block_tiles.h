// Blocks of 32 k whose scales are powers of two on both sides, multiplied as bf16 by tile registers.
//
// A code times its step is a bf16 exactly, one step of the tiles takes one block, and what it adds to a sum is the
// block's exact sum times both steps, rounded once: the bits of the definition (docs/FORMATS.md, section 11.5). That
// holds while nothing is subnormal or infinite on the way, which is looked at: in rows of A when they are laid out, in
// panels of W when they are packed.
#pragma once

#include "device/x86/block_gemm/shape.h"
#include "device/x86/emitter.h"

namespace hone {

// Powers of two as f32, subnormal 2^-127 among them; the code of NaN gives infinity.
llvm::Value* block_powers(X86Emitter& e, llvm::Value* codes);
// Steps of A times the fractions of both formats, with NaN for NaN.
llvm::Value* block_steps(X86Emitter& e, llvm::Value* codes, double unit);

// Adds a local function
//   i1(a, a_row_bytes, scales, rows, out)
// that lays rows of A out as bf16, shape.tile_row_bytes() apart, and says whether all of them are such.
llvm::Function* emit_block_tile_rows(X86Emitter& e, const std::string& symbol, const BlockGemmShape& shape);

// Adds a local function
//   void(panel, first, count, out)
// that decodes the blocks [first, first + count) of a panel of W to pairs of bf16.
llvm::Function* emit_block_tile_panel(X86Emitter& e, const std::string& symbol, const BlockGemmShape& shape);

}  // namespace hone
