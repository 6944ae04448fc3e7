// Products with scales of blocks on x86: launches, reports, and the plans for tiles (shape.h).
#include <algorithm>
#include <utility>

#include "base/multiples.h"
#include "device/x86/amx/tile_rules.h"
#include "device/x86/block_gemm/shape.h"
#include "device/x86/x86_kernel.h"
#include "kernels/lowering.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// About 20 us, as of gemm: 4 MFLOP, or 512 KB of weights. Rows of A are laid out once a chunk, for about a quarter of
// what multiplying them by one panel takes.
Launch launch(const X86BlockGemmPlan& plan, const X86Target& target, X86BlockGemmArgs& args) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  const int64_t m = args.m, block = s.block_rows(m), rows = std::min(m, block);
  args.block_rows = block;
  const int64_t flops = std::max<int64_t>(1, 2 * rows * plan.k * s.panel_columns());
  int64_t items = std::min((int64_t{4} << 20) / flops, (int64_t{512} << 10) / s.panel_bytes());
  if (rows > 1) items = std::max<int64_t>(items, s.panels() >= 32 ? 8 : s.panels() >= 8 ? 4 : 2);
  return {.items = ceil_div(m, block) * s.panels(),
          .items_per_chunk = std::max<int64_t>(1, items),
          .scratch_bytes = s.scratch_bytes(block)};
}

std::string describe(const X86BlockGemmPlan& plan, const X86Target& target) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  return fmt::format("k {} n {}: tiles up to {}x{}, {} panels, {} weights by {}, dot products of {}, blocks of {}{}",
                     plan.k, plan.n, s.rows, s.panel_columns(), s.panels(), plan.w_format,
                     plan.x_format.empty() ? "int8" : plan.x_format, s.dot ? "bytes" : "words", s.blocks.length,
                     s.tiles ? fmt::format(", from {} rows on of bf16 by tile registers", kLeastTileRows) : "");
}

bool can_shrink(const X86BlockGemmPlan& plan, const X86Target& target, int shrink) {
  return block_gemm_shape(plan, target, shrink).rows < block_gemm_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const X86BlockGemmPlan& plan, const X86Target& target) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  return {0.9, 0.2 * used_columns(std::max<int64_t>(plan.n, 16)),
          s.tiles ? ProductUnit::bf16_tiles
          : s.dot ? ProductUnit::int8
                  : ProductUnit::int16};
}

// The heights of the strips of m rows.
void only_rows(X86BlockGemmPlan& plan, const X86Target& target, int64_t m) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  const int64_t block = s.block_rows(m);
  plan.shortest = s.rows, plan.tallest = 1;
  for (int64_t height : {std::min(block, m), m % block}) {
    if (height == 0) continue;
    const Strips strips = strips_of(height, s.rows);
    plan.shortest = std::min(plan.shortest, static_cast<int>(strips.height));
    plan.tallest = std::max(plan.tallest, static_cast<int>(strips.height + (strips.taller > 0)));
  }
}

Support adapt(const X86Device& device, const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Shape x = lowering.shape(lowering.graph.operand(step.group.anchor, 0));
  const Dim m = element_count(Shape(x.begin(), x.end() - 1));
  prepared.place = [=, &device, plan = X86BlockGemmPlan{step.plan->get<BlockGemmPlan>()},
                    fill = std::move(prepared.place),
                    plans = PlanVariants<bool>()](const RunSizes& sizes, StepCall& placed) mutable {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    return plans.choose(true, device, placed, [&] {
      const X86Target& target = device.target();
      X86BlockGemmPlan chosen = plan;
      chosen.by_tiles = (!m.is_constant() || m.constant() >= kLeastTileRows) && fits_tiles(plan, target);
      if (m.is_constant()) only_rows(chosen, target, m.constant());
      return KernelPlan(chosen);
    });
  };
  step.plan.reset();  // made when it is asked for
  return {};
}

constexpr X86KernelClass<X86BlockGemmPlan, X86BlockGemmArgs> kBlockGemm{.adapt = adapt,
                                                                        .supports = block_gemm_support,
                                                                        .launch = launch,
                                                                        .describe = describe,
                                                                        .emit = emit_block_gemm,
                                                                        .can_shrink = can_shrink,
                                                                        .speed = speed,
                                                                        .prepack_key = prepack_key,
                                                                        .prepacked_bytes = prepacked_bytes,
                                                                        .prepack = prepack};

}  // namespace

extern constinit const X86KernelDef block_gemm_on_x86_def = x86_kernel<kBlockGemm>();

}  // namespace hone
