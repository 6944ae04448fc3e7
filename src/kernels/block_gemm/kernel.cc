// What follows from the plan of a product with scales of blocks.
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/block_gemm/shape.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// About 20 us, as of gemm: 4 MFLOP, or 512 KB of weights. Rows of A are laid out once a chunk, for about a quarter of
// what multiplying them by one panel takes.
Launch launch(const BlockGemmPlan& plan, const Target& target, KernelArgs& args) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  const int64_t m = args.dims[0], block = s.block_rows(m), rows = std::min(m, block);
  args.dims[kBlockGemmRows] = block;
  const int64_t flops = std::max<int64_t>(1, 2 * rows * plan.k * s.panel_columns());
  int64_t items = std::min((int64_t{4} << 20) / flops, (int64_t{512} << 10) / s.panel_bytes());
  if (rows > 1) items = std::max<int64_t>(items, s.panels() >= 32 ? 8 : s.panels() >= 8 ? 4 : 2);
  return {.items = ceil_div(m, block) * s.panels(),
          .items_per_chunk = std::max<int64_t>(1, items),
          .scratch_bytes = s.scratch_bytes(block)};
}

std::string describe(const BlockGemmPlan& plan, const Target& target) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  return fmt::format("k {} n {}: tiles up to {}x{}, {} panels, {} weights by {}, dot products of {}, blocks of {}{}",
                     plan.k, plan.n, s.rows, s.panel_columns(), s.panels(), plan.w_format,
                     plan.x_format.empty() ? "int8" : plan.x_format, s.dot ? "bytes" : "words", s.blocks.length,
                     s.tiles ? fmt::format(", from {} rows on of bf16 by tile registers", kLeastTileRows) : "");
}

bool can_shrink(const BlockGemmPlan& plan, const Target& target, int shrink) {
  return block_gemm_shape(plan, target, shrink).rows < block_gemm_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const BlockGemmPlan& plan, const Target& target) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  return {0.9, 0.2 * used_columns(std::max<int64_t>(plan.n, 16)),
          s.tiles ? ProductUnit::bf16_tiles
          : s.dot ? ProductUnit::int8
                  : ProductUnit::int16};
}

bool takes(const OpDef& op) { return is_one_of(op, {"block_linear"}); }

constexpr KernelClass<BlockGemmPlan> block_gemm{
    .name = "block_gemm",
    .doc = "products of codes, of which each block of K has scales of its own",
    .takes = takes,
    .group = kEpilogueRules,
    .lower = lower_block_gemm,
    .supports = block_gemm_support,
    .launch = launch,
    .describe = describe,
    .can_shrink = can_shrink,
    .speed = speed,
    .prepack_key = prepack_key,
    .prepacked_bytes = prepacked_bytes,
    .prepack = prepack};

}  // namespace

extern constinit const KernelDef block_gemm_kernel_def = kernel_def<block_gemm>();
const KernelDef& BlockGemmPlan::kernel() { return block_gemm_kernel_def; }

}  // namespace hone
