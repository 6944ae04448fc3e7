// What launch, prepack and code generator agree on for products with scales of blocks.
//
// W is cut into panels of `vectors * lanes` outputs. A panel is a sequence of rows of 32-bit lanes, one lane a column,
// block after block of K: of codes of 8 bits a row for each four k, of up to 4 bits one for each eight, the first four
// in the low halves of the bytes. Behind them lie the scales, a row for each group of W. Panels start on 64 bytes.
//
// Codes lie `offset` too large, so that they have no sign: that is what the CPU's dot product of bytes takes beside
// signed ones, and codes of 4 bits are taken apart by a mask and a shift. The sum of a block begins with -offset times
// the sum of the codes of A in it, so that no sum of a column is read. Where there is no such unit, codes become words.
//
// Rows of A are laid out in scratch before they meet a panel, each as its codes (bytes, or words as emit_code_rows()
// has them), then for each block what its sum begins with (i32), then its step (f32), where A has scales: that of A
// times the fractions of both formats, which are powers of two, so that its product with the scale of W is the one
// that the definition rounds.
//
// A tile keeps the sums of a block and those of all blocks before it in registers: rows * vectors of each.
//
// Tile registers multiply blocks as bf16 where both sides' scales are powers of two (device/x86/amx/block_tiles.h):
// rows of A are laid out as such behind where they would be for vectors, and a panel is decoded to scratch some blocks
// at a time. A word behind a panel's scales says whether it can be. Other scales would have to be multiplied into each
// block's sums, which takes tiles as long as vectors need for all.
#pragma once

#include <vector>

#include "device/x86/block_gemm/plan.h"
#include "device/x86/gemm/shape.h"
#include "ops/block_products.h"

namespace hone {

class X86Emitter;

struct BlockGemmShape {
  int64_t n = 0;
  KBlocks blocks;
  int lanes = 0, vectors = 0, rows = 0;  // a tile is at most rows x (vectors * lanes)
  bool dot = false;                      // dot products of bytes; else of words
  bool halves = false;                   // codes of W of up to 4 bits, two to a byte
  int offset = 0;
  DType scale = DType::f32;   // of W: f32, f16, bf16, or f8e8m0, bytes of powers of two
  bool shared_scale = false;  // one scale for all columns: laid out for each
  bool x_scales = false;
  double unit = 1;      // the fractions of both formats
  bool powers = false;  // blocks that may be multiplied as bf16
  bool tiles = false;   // many rows are, by tile registers

  int64_t panel_columns() const { return int64_t{vectors} * lanes; }
  int64_t panels() const { return ceil_div(n, panel_columns()); }
  int64_t row_bytes() const { return panel_columns() * 4; }
  int64_t code_rows(int64_t k) const { return ceil_div(k, int64_t{halves ? 8 : 4}); }
  int64_t scale_row_bytes() const { return panel_columns() * size_bytes(scale); }
  int64_t scales_offset() const;
  int64_t word_offset() const { return round_up(scales_offset() + blocks.weight_scales() * scale_row_bytes(), 4); }
  int64_t panel_bytes() const { return round_up(word_offset() + (powers ? 4 : 0), 64); }
  int code_bytes() const { return dot ? 1 : 2; }                                  // of one of A in scratch
  int64_t starts_offset() const { return round_up(blocks.k, 4) * code_bytes(); }  // in a row of A in scratch
  int64_t steps_offset() const { return starts_offset() + blocks.count() * 4; }
  int64_t a_row_bytes() const;
  int64_t block_rows(int64_t m) const;  // rows of A in an item, of m
  int64_t tile_k() const { return round_up(blocks.k, kTileK); }
  int64_t tile_row_bytes() const { return (tile_k() * 2 / 64 | 1) * 64; }  // of A as bf16
  GemmShape tile_shape() const;                                            // for emit_tile_product()
  // Rows of A for vectors; for tiles behind them as bf16, a part of a panel, and sums.
  int64_t scratch_bytes(int64_t rows) const;
};

// Values that tiles take: 0, NaN and magnitudes from 2^-kPlainPower to 2^kPlainPower, whose products are far from what
// is subnormal or infinite.
constexpr int kPlainPower = 50;

BlockGemmShape block_gemm_shape(const X86BlockGemmPlan& plan, const X86Target& target, int shrink = 0);
Support block_gemm_support(const X86BlockGemmPlan& plan, const X86Target& target);

std::string prepack_key(const X86BlockGemmPlan& plan, const X86Target& target);
int64_t prepacked_bytes(const X86BlockGemmPlan& plan, const X86Target& target);
void prepack(const X86BlockGemmPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out);

void emit_block_gemm(X86Emitter& e, const X86BlockGemmPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
