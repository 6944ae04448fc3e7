// Matrix products on x86: launches, reports, and the plans for tiles and for few rows (shape.h).
#include <algorithm>
#include <utility>

#include "base/multiples.h"
#include "device/x86/amx/tile_rules.h"
#include "device/x86/gemm/describe.h"
#include "device/x86/gemm/prepack.h"
#include "device/x86/gemm/shape.h"
#include "device/x86/x86_kernel.h"
#include "kernels/lowering.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

Support supports(const X86GemmPlan& plan, const X86Target& target) { return gemm_support(plan, target); }

// About 20 us: 2 MFLOP at 100 GFLOP/s (tiles: eight times that, of codes sixteen), or 512 KB of weights at 25 GB/s
// when there are few rows.
Launch launch(const X86GemmPlan& plan, const X86Target& target, X86GemmArgs& args) {
  const int64_t m = args.m;
  GemmShape s = gemm_shape(plan, target, gemm_case(m));
  if (plan.n == 0) s.n = args.n;
  if (plan.k == 0) s.k = args.k;
  const int64_t block = s.block_rows(m), rows = std::min(m, block);
  args.block_rows = block;
  const int64_t flops = std::max<int64_t>(1, 2 * rows * s.k * s.panel_columns() * s.item_panels());
  const int64_t mflop = !s.tiles() ? 2 : s.integers() ? 32 : 16;
  int64_t items = std::min((mflop << 20) / flops, (int64_t{512} << 10) / (s.panel_bytes() * s.item_panels()));
  // Rows are widened once a chunk, for about the sixteenth part of what multiplying them by one panel takes.
  // Codes are laid out in scratch likewise.
  if (s.left == LeftRows::widened || s.left == LeftRows::codes)
    items = std::max<int64_t>(items, s.panel_items() >= 16 ? 4 : 2);
  return {.items = args.batches * ceil_div(m, block) * s.panel_items(),
          .items_per_chunk = std::max<int64_t>(1, items),
          .scratch_bytes = s.scratch_bytes(block)};
}

// Of all M that there is code for, but a few where there is no bound.
GemmShape shape_of_most(const X86GemmPlan& plan, const X86Target& target) {
  return gemm_shape(plan, target, plan.rows.most ? plan.rows.least : 0);
}

std::string describe(const X86GemmPlan& plan, const X86Target& target) {
  const GemmShape s = shape_of_most(plan, target);
  const auto size = [](int64_t extent) { return extent ? std::to_string(extent) : std::string("any"); };
  return fmt::format("k {} n {}: tiles up to {}x{}{}, {}, {}", size(plan.k), size(plan.n), s.rows, s.panel_columns(),
                     plan.n ? fmt::format(", {} panels", s.panels()) : "", weights_of(plan, s), products_of(s));
}

bool can_shrink(const X86GemmPlan& plan, const X86Target& target, int shrink) {
  const int64_t m = plan.rows.most;
  return gemm_shape(plan, target, m, shrink).rows < gemm_shape(plan, target, m, shrink - 1).rows;
}

KernelSpeed speed(const X86GemmPlan& plan, const X86Target& target) {
  const GemmShape s = shape_of_most(plan, target);
  return {0.98, 0.6 * used_columns(std::max<int64_t>(plan.n, 16)), s.unit};
}

// Codes are decoded elsewhere for a few rows: two kernels, since seldom are both needed.
Support adapt(const X86Device& device, const Lowering&, Prepared& prepared) {
  StepDraft& step = prepared.step();
  X86GemmPlan plan{step.plan->get<GemmPlan>()};
  const int64_t m = std::exchange(plan.m, 0);  // 0: open; `rows` says which there is code for
  plan.by_tiles = fits_tiles(plan, device.target());
  step.plan.reset();  // chosen by the sizes of a run
  const bool two = !plan.w_format.empty();
  prepared.place = [=, &device, fill = std::move(prepared.place), plans = PlanVariants<bool>()](
                       const RunSizes& sizes, StepCall& placed) mutable {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    const bool few = two && placed.args<GemmArgs>().m <= kFewRows;
    return plans.choose(few, device, placed, [&] {
      X86GemmPlan chosen = plan;
      if (m > 0) chosen.rows = only_rows(plan, device.target(), m);
      else if (two) chosen.rows = few ? X86GemmPlan::Rows{.most = kFewRows} : X86GemmPlan::Rows{.least = kFewRows + 1};
      return KernelPlan(chosen);
    });
  };
  return {};
}

constexpr X86KernelClass<X86GemmPlan, X86GemmArgs> kGemm{.adapt = adapt,
                                                         .supports = supports,
                                                         .launch = launch,
                                                         .describe = describe,
                                                         .emit = emit_gemm,
                                                         .can_shrink = can_shrink,
                                                         .speed = speed,
                                                         .prepack_key = prepack_key,
                                                         .prepacked_bytes = prepacked_bytes,
                                                         .prepack = prepack};

}  // namespace

extern constinit const X86KernelDef gemm_on_x86_def = x86_kernel<kGemm>();

}  // namespace hone
