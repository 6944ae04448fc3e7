// What follows from the plan of a convolution.
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/conv/prepack.h"
#include "device/x86/conv/shape.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/gemm/describe.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// Blocks of an image, and panels that are worked on with the same block.
struct Blocks {
  int64_t of_image, of_images, panels, scratch_bytes;
};

Blocks direct_blocks(const ConvPlan& plan, const Target& target, KernelArgs& args) {
  const ConvShape s = conv_shape(plan, target);
  write_derived(s, args.dims);
  const int64_t blocks = plan.groups * s.blocks;
  return {blocks, args.dims[1] * blocks, s.gemm.panels(), round_up(s.copied_bytes(), 64) + s.gemm.scratch_bytes(0)};
}

Blocks winograd_blocks(const ConvPlan& plan, const Target& target, KernelArgs& args) {
  const WinogradShape s = winograd_shape(plan, target);
  write_derived(s, args.dims);
  return {ceil_div(s.pieces(), s.block_pieces), ceil_div(args.dims[1] * s.pieces(), s.block_pieces), s.gemm.panels(),
          s.scratch_bytes()};
}

// A thread that goes on with another panel of the same block need not read x again; few blocks are shared all the same.
Launch launch(const ConvPlan& plan, const Target& target, KernelArgs& args) {
  const ConvPlan placed = on_plane_of(plan, args.dims);
  if (placed.window.out_height < 1 || placed.window.out_width < 1) return {};
  const bool direct = plan.method == ConvPlan::Method::direct;
  const Blocks blocks = direct ? direct_blocks(placed, target, args) : winograd_blocks(placed, target, args);
  const int64_t pieces = std::max<int64_t>(1, 4 / blocks.of_image);
  // Kernels for any plane leave room for the largest blocks of pieces.
  const int64_t room = direct || !plan.any_plane ? 0 : winograd_shape(plan, target).scratch_bytes();
  return {.items = blocks.of_images * blocks.panels,
          .items_per_chunk = std::max<int64_t>(1, blocks.panels / pieces),
          .scratch_bytes = std::max(blocks.scratch_bytes, room)};
}

std::string describe(const ConvPlan& plan, const Target& target) {
  const PlaneWindow& w = plan.window;
  const std::string window = fmt::format(
      "{}x{}/{}{}", w.kernel_height, w.kernel_width,
      w.stride_y == w.stride_x ? fmt::format("{}", w.stride_y) : fmt::format("{},{}", w.stride_y, w.stride_x),
      plan.groups > 1 ? fmt::format(" in {} groups", plan.groups) : "");
  if (plan.method == ConvPlan::Method::direct) {
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

bool can_shrink(const ConvPlan& plan, const Target& target, int shrink) {
  const auto rows = [&](int times) {
    return plan.method == ConvPlan::Method::direct ? conv_shape(plan, target, times).gemm.rows
                                                   : winograd_shape(plan, target, times).gemm.rows;
  };
  return rows(shrink) < rows(shrink - 1);
}

KernelSpeed speed(const ConvPlan& plan, const Target& target) {
  const double used = used_columns(plan.product.n);
  const ProductUnit unit = unit_of(plan.method == ConvPlan::Method::direct ? conv_shape(plan, target).gemm
                                                                           : winograd_shape(plan, target).gemm);
  switch (plan.method) {
    case ConvPlan::Method::direct:
      return {0.98, 0.6 * used, unit};
    case ConvPlan::Method::winograd2:
      return {1.9, used, unit};
    case ConvPlan::Method::winograd4:
      return {3.3, 1.2 * used, unit};
  }
  CHECK(false);
}

// Of conv_transpose only what no convolutions were made of is left, and refused with the reason.
bool takes(const OpDef& op) { return is_one_of(op, {"conv", "conv_input_gradient", "conv_transpose"}); }

constexpr KernelClass<ConvPlan> conv{
    .name = "conv",
    .doc = "convolutions and gradients of their inputs, as implicit products or by Winograd",
    .takes = takes,
    .precedence = 1,  // before window, which takes depthwise ones
    .group = kEpilogueRules,
    .lower = lower_conv,
    .supports = conv_support,
    .launch = launch,
    .describe = describe,
    .can_shrink = can_shrink,
    .speed = speed,
    .prepack_key = prepack_key,
    .prepacked_bytes = prepacked_bytes,
    .prepack = prepack};

}  // namespace

extern constinit const KernelDef conv_kernel_def = kernel_def<conv>();
const KernelDef& ConvPlan::kernel() { return conv_kernel_def; }

}  // namespace hone
