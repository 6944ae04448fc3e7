// Convolutions on x86: launches, reports, and the choice of a method for a plane (shape.h, winograd_shape.h).
#include <algorithm>
#include <utility>

#include "base/multiples.h"
#include "device/x86/amx/tile_rules.h"
#include "device/x86/conv/prepack.h"
#include "device/x86/conv/shape.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/gemm/describe.h"
#include "device/x86/x86_kernel.h"
#include "kernels/lowering.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// Blocks of an image, and panels that are worked on with the same block.
struct Blocks {
  int64_t of_image, of_images, panels, scratch_bytes;
};

Blocks direct_blocks(const X86ConvPlan& plan, const X86Target& target, int64_t images, KernelArgs& args) {
  const ConvShape s = conv_shape(plan, target);
  write_derived(s, args);
  const int64_t blocks = plan.groups * s.blocks;
  return {blocks, images * blocks, s.gemm.panels(), round_up(s.copied_bytes(), 64) + s.gemm.scratch_bytes(0)};
}

Blocks winograd_blocks(const X86ConvPlan& plan, const X86Target& target, int64_t images, KernelArgs& args) {
  const WinogradShape s = winograd_shape(plan, target);
  write_derived(s, args);
  return {ceil_div(s.pieces(), s.block_pieces), ceil_div(images * s.pieces(), s.block_pieces), s.gemm.panels(),
          s.scratch_bytes()};
}

// A thread that goes on with another panel of the same block need not read x again; few blocks are shared all the same.
Launch launch(const X86ConvPlan& plan, const X86Target& target, KernelArgs& args) {
  const auto given = from_args<ConvArgs>(args);
  const X86ConvPlan placed = on_plane_of(plan, given.window);
  if (placed.window.out_height < 1 || placed.window.out_width < 1) return {};
  const bool direct = plan.method == X86ConvPlan::Method::direct;
  const Blocks blocks =
      direct ? direct_blocks(placed, target, given.images, args) : winograd_blocks(placed, target, given.images, args);
  const int64_t pieces = std::max<int64_t>(1, 4 / blocks.of_image);
  // Kernels for any plane leave room for the largest blocks of pieces.
  const int64_t room = direct || !plan.any_plane ? 0 : winograd_shape(plan, target).scratch_bytes();
  return {.items = blocks.of_images * blocks.panels,
          .items_per_chunk = std::max<int64_t>(1, blocks.panels / pieces),
          .scratch_bytes = std::max(blocks.scratch_bytes, room)};
}

std::string describe(const X86ConvPlan& plan, const X86Target& target) {
  const PlaneWindow& w = plan.window;
  const std::string window = fmt::format(
      "{}x{}/{}{}", w.kernel_height, w.kernel_width,
      w.stride_y == w.stride_x ? fmt::format("{}", w.stride_y) : fmt::format("{},{}", w.stride_y, w.stride_x),
      plan.groups > 1 ? fmt::format(" in {} groups", plan.groups) : "");
  if (plan.method == X86ConvPlan::Method::direct) {
    const ConvShape s = conv_shape(plan, target);
    const std::string blocks =
        plan.any_plane ? "any plane" : fmt::format("{} blocks of {} rows", s.blocks, s.block_rows);
    return fmt::format("{} direct: tile {}x{}, {} panels, {}{}, {}, {}", window, s.gemm.rows, s.gemm.panel_columns(),
                       s.gemm.panels(), blocks,
                       plan.inside_only ? " (taps inside it)"
                       : s.copied       ? " (x copied)"
                                        : "",
                       weights_of(plan.product, s.gemm), products_of(s.gemm));
  }
  const WinogradShape s = winograd_shape(plan, target);
  const std::string pieces = plan.any_plane ? "any plane" : fmt::format("{} pieces", s.pieces());
  return fmt::format("{} Winograd F({}x{}): {} by {}, tile {}x{}, {}; errors grow up to {:.0f}-fold", window,
                     s.w->piece, s.w->piece, pieces, s.block_pieces, s.gemm.rows, s.gemm.panel_columns(),
                     products_of(s.gemm), winograd_growth(*s.w));
}

bool can_shrink(const X86ConvPlan& plan, const X86Target& target, int shrink) {
  const auto rows = [&](int times) {
    return plan.method == X86ConvPlan::Method::direct ? conv_shape(plan, target, times).gemm.rows
                                                      : winograd_shape(plan, target, times).gemm.rows;
  };
  return rows(shrink) < rows(shrink - 1);
}

KernelSpeed speed(const X86ConvPlan& plan, const X86Target& target) {
  const double used = used_columns(plan.product.n);
  const ProductUnit unit = plan.method == X86ConvPlan::Method::direct ? conv_shape(plan, target).gemm.unit
                                                                      : winograd_shape(plan, target).gemm.unit;
  switch (plan.method) {
    case X86ConvPlan::Method::direct:
      return {0.98, 0.6 * used, unit};
    case X86ConvPlan::Method::winograd2:
      return {1.9, used, unit};
    case X86ConvPlan::Method::winograd4:
      return {3.3, 1.2 * used, unit};
  }
  CHECK(false);
}

// Methods and units by the sizes of a plane, and the rule for taps outside it.
Support adapt(const X86Device& device, const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const X86ConvPlan plan{step.plan->get<ConvPlan>()};
  const bool once = lowering.is_laid_out(lowering.graph.operand(step.group.anchor, 1));
  step.plan.reset();  // chosen by the sizes of a run
  prepared.place = [=, &device, codes = !is_float(plan.product.a), no_winograd = lowering.no_winograd,
                    fill = std::move(prepared.place), plans = PlanVariants<std::pair<X86ConvPlan::Method, bool>>()](
                       const RunSizes& sizes, StepCall& placed) mutable {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    const X86Target& target = device.target();
    auto args = placed.args<ConvArgs>();
    X86ConvPlan chosen = on_plane_of(plan, args.window);
    chosen.by_tiles = fits_tiles(chosen, target);
    const MethodChoice choice = codes ? MethodChoice() : choose_method(chosen, target, args.images, no_winograd, once);
    chosen.method = choice.method;
    chosen.by_tiles &= chosen.method == X86ConvPlan::Method::direct;
    placed.refused = choice.refused;
    chosen.inside_only = skips_padding(chosen, target);
    if (plan.any_plane || chosen.inside_only) for_any_plane(chosen, args.window), placed.set(args);
    return plans.choose({chosen.method, chosen.inside_only}, device, placed, [&] { return KernelPlan(chosen); });
  };
  return {};
}

constexpr X86KernelClass<X86ConvPlan, KernelArgs> kConv{.adapt = adapt,
                                                        .supports = conv_support,
                                                        .launch = launch,
                                                        .describe = describe,
                                                        .emit = emit_conv,
                                                        .can_shrink = can_shrink,
                                                        .speed = speed,
                                                        .prepack_key = prepack_key,
                                                        .prepacked_bytes = prepacked_bytes,
                                                        .prepack = prepack};

}  // namespace

extern constinit const X86KernelDef conv_on_x86_def = x86_kernel<kConv>();

}  // namespace hone
