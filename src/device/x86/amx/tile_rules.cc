#include "device/x86/amx/tile_rules.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/block_gemm/shape.h"
#include "device/x86/conv/shape.h"
#include "device/x86/gemm/shape.h"

namespace hone {
namespace {

// What vectors multiply in the time of one f32 product.
double vector_rate(const X86ConvPlan& plan, const X86Target& target) {
  if (plan.product.multiplies_codes()) return target.byte_unit() ? target.byte_unit()->rate : 2;
  const DotUnit* pairs = target.vector_unit(DType::bf16);
  return std::max(1.0, pairs ? pairs->rate : 0);
}

}  // namespace

bool fits_tiles(X86GemmPlan plan, const X86Target& target) {
  plan.by_tiles = target.tile_unit(plan.a) != nullptr;
  return plan.by_tiles && gemm_shape(plan, target).tiles();
}

// Runs are spread where their share of whole steps leaves tiles one and a half times as fast as vectors: the rest goes
// into spreading.
bool fits_tiles(X86ConvPlan plan, const X86Target& target) {
  const DotUnit* tiles = target.tile_unit(plan.product.a);
  if (!tiles) return false;
  plan.by_tiles = true;
  plan.method = X86ConvPlan::Method::direct;
  const ConvShape s = conv_shape(plan, target);
  if (!s.gemm.tiles()) return false;
  const double filled = static_cast<double>(s.segment * size_bytes(plan.product.a)) / static_cast<double>(s.run_bytes);
  return filled * tiles->rate >= 1.5 * vector_rate(plan, target) || !s.spreads;
}

bool fits_tiles(X86BlockGemmPlan plan, const X86Target& target) {
  plan.by_tiles = true;
  return block_gemm_shape(plan, target).tiles;
}

bool fits_tiles(const AttentionPlan& plan, const X86Target& target) {
  return plan.dtype == DType::bf16 && target.tile_unit(DType::bf16) && plan.head_dim % kTileK == 0;
}

int tile_vectors(int64_t columns, int lanes) {
  return (columns == 0 || columns > kTileColumns ? 2 : 1) * kTileColumns / lanes;
}

// Sums of a group are scaled when its last step is done. Pairs have their zero points taken off in the lookup.
bool tiles_can(const GemmShape& s) {
  const bool has_numbers = !s.codec || s.codec->zero_point_bytes == 0 || s.codec->zero_in_index;
  return has_numbers && (!s.scale_in_loop() || s.group == s.k || s.group % kTileK == 0);
}

bool tiles_can(const BlockGemmShape& s, const X86Target& target) {
  return s.powers && target.tile_unit(DType::bf16) && s.panel_columns() % kTileColumns == 0;
}

// Of dense panels that tiles read: 36 KB of the 48 that such CPUs have as a first-level cache, a divisor of k (of
// codes, as they are filled up). Up to 24 steps all of it: what the second-level cache gives beside A then costs less
// than loading sums.
int64_t choose_tile_block(const GemmShape& s) {
  const int64_t step = step_k(s.plain), k = s.integers() ? round_up(s.k, step) : s.k;
  if (k > 24 * step)
    for (int64_t block = 18 * step; block >= 12 * step; block -= step)
      if (k % block == 0) return block;
  return s.k;
}

// Blocks are larger than those of vectors, since the first strip loads both factors from the second-level cache. Where
// that does not hold the weights, tiles wait for them: then rows are as many as fill half of it.
int64_t choose_tile_rows(const GemmShape& s, const X86Target& target) {
  const int64_t room = target.l2_bytes() / 2;
  if (s.panels() * s.panel_bytes() <= room) return 256;
  return std::clamp<int64_t>(room / (s.k * size_bytes(s.a)) / kTileStripRows * kTileStripRows, 256, 1024);
}

}  // namespace hone
