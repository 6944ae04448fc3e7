#include "device/x86/reduce_window/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/reduce_window/prepack.h"

namespace hone {
namespace {

constexpr int64_t kMostVectors = 4;
constexpr int64_t kEvenColumns = 7;  // planes of networks for images of 224 x 224 are multiples of it

// The largest part that `total` falls into evenly when none may exceed `most`.
int64_t even_part(int64_t total, int64_t most) { return ceil_div(total, ceil_div(total, std::max<int64_t>(1, most))); }

// Eight sums hide the latency of an addition, and leave room for weights and an element in 16 registers.
int64_t sums_of_tile(int shrink) { return std::max(1, 8 >> shrink); }

int64_t chains_of(const ReduceWindowPlan& plan, const X86Target& target) {
  return is_unrolled(plan) ? 1 : sums_of_tile(0) / even_part(channel_vectors(plan, target), kMostVectors);
}

int64_t vectors_beside(int64_t sums, int64_t total, int shrink) {
  return even_part(total, std::min(kMostVectors, sums_of_tile(shrink) / sums));
}

}  // namespace

bool is_unrolled(const ReduceWindowPlan& plan) {
  return plan.plane.kernel_width > 0 && plan.plane.kernel_width <= kMostUnrolled;
}

ReduceWindowTile window_tile(const ReduceWindowPlan& plan, const X86Target& target, int shrink) {
  ReduceWindowTile tile;
  tile.chains = chains_of(plan, target);
  if (is_unrolled(plan)) tile.columns = even_part(plan.plane.out_width, sums_of_tile(shrink));
  tile.vectors = vectors_beside(tile.columns * tile.chains, block_vectors(plan, target), shrink);
  return tile;
}

ReduceWindowTile inner_tile(const ReduceWindowPlan& plan, const X86Target& target, int shrink) {
  const int64_t columns = std::min(kEvenColumns, sums_of_tile(shrink));
  return {columns, vectors_beside(columns, channel_vectors(plan, target), shrink)};
}

int64_t usual_padding(const ReduceWindowPlan& plan) {
  return (plan.plane.kernel_width - 1) * plan.plane.dilation_x / 2;
}
int64_t least_overhang(const ReduceWindowPlan& plan) {
  return std::max<int64_t>(0, usual_padding(plan) - (std::min(plan.plane.stride_x, kMostUnrolled) - 1));
}

ReduceWindowTile border_tile(const ReduceWindowPlan& plan, const X86Target& target) {
  return {kEvenColumns, vectors_beside(kEvenColumns, channel_vectors(plan, target), 0)};
}

ReduceWindowTile single_tile(const ReduceWindowPlan& plan, const X86Target& target, int shrink) {
  const int64_t chains = chains_of(plan, target);
  return {1, vectors_beside(chains, channel_vectors(plan, target), shrink), chains};
}

ReduceWindowPlan on_plane_of(const ReduceWindowPlan& plan, const WindowSizes& sizes) {
  ReduceWindowPlan placed = plan;
  if (plan.any_plane) placed.plane = on_plane_of(plan.plane, sizes);
  return placed;
}

void write_derived(const ReduceWindowPlan& placed, const X86Target& target, WindowTileArgs& args) {
  const PlaneWindow& p = placed.plane;
  args.block_vectors = block_vectors(placed, target), args.blocks = channel_blocks(placed, target);
  const int64_t last = p.width - 1 - (p.kernel_width - 1) * p.dilation_x + p.pad_left;  // column of the first tap
  const int64_t end = last < 0 ? 0 : std::min(p.out_width, last / p.stride_x + 1);
  const int64_t first = std::min(end, ceil_div(std::max<int64_t>(p.pad_left, 0), p.stride_x));
  const int64_t overhang =
      (p.out_width - 1) * p.stride_x - p.pad_left + (p.kernel_width - 1) * p.dilation_x - (p.width - 1);
  const bool is_usual = p.pad_left == usual_padding(placed) && overhang <= usual_padding(placed) &&
                        std::max<int64_t>(0, overhang) >= least_overhang(placed);
  args.overhang = is_usual ? std::max<int64_t>(0, overhang) : -1;
  const bool is_short = p.out_width <= kEvenColumns && end - first < p.out_width;  // one tile of the border
  args.inside_first = is_short ? p.out_width : first;
  args.inside_end = is_short ? p.out_width : end;
}

int64_t channel_vectors(const ReduceWindowPlan& plan, const X86Target& target) {
  return ceil_div(plan.channels, target.lanes());
}

// About 4 us of work, at least four. For any plane, tiles of 1 to 4 vectors fill whole blocks.
int64_t block_vectors(const ReduceWindowPlan& plan, const X86Target& target) {
  const int64_t vectors = channel_vectors(plan, target);
  const int64_t work = std::max<int64_t>(1, plan.plane.out_width * plan.plane.taps());
  return std::min(vectors, round_up(std::max<int64_t>(4, 8192 / work), plan.any_plane ? 12 : kMostVectors));
}

int64_t channel_blocks(const ReduceWindowPlan& plan, const X86Target& target) {
  return ceil_div(channel_vectors(plan, target), block_vectors(plan, target));
}

GemmShape weight_shape(const ReduceWindowPlan& plan, const X86Target& target) {
  GemmShape shape = panel_shape(window_weights(plan), target);
  shape.take_all_k();  // all taps are decoded before the first is used
  return shape;
}

int64_t weight_row_bytes(const ReduceWindowPlan& plan, const X86Target& target) {
  if (plan.w_format.empty()) return window_weight_pitch(plan.channels) * 4;
  const PanelLayout layout = panel_layout(window_weights(plan), target);
  return layout.panels() * layout.row_bytes();
}

}  // namespace hone
