#include "codegen/kernels/window/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "codegen/kernels/window/prepack.h"

namespace hone {
namespace {

constexpr int64_t kMostUnrolled = 7;  // taps: their weights fill a quarter of 32 registers

// The largest part that `total` falls into evenly when none may exceed `most`.
int64_t even_part(int64_t total, int64_t most) { return ceil_div(total, ceil_div(total, std::max<int64_t>(1, most))); }

}  // namespace

bool is_unrolled(const WindowPlan& plan) { return plan.plane.kernel_width <= kMostUnrolled; }

// Eight sums hide the latency of an addition, and leave room for weights and an element in 16 registers.
WindowTile window_tile(const WindowPlan& plan, const Target& target, int shrink) {
  const int64_t most = std::max(1, 8 >> shrink);
  WindowTile tile;
  if (is_unrolled(plan)) tile.columns = even_part(plan.plane.out_width, most);
  tile.vectors = even_part(block_vectors(plan, target), std::min<int64_t>(4, most / tile.columns));
  if (!is_unrolled(plan)) tile.chains = std::max<int64_t>(1, most / tile.vectors);
  return tile;
}

int64_t channel_vectors(const WindowPlan& plan, const Target& target) {
  return ceil_div(plan.channels, target.lanes());
}

// About 4 us of work, at least four.
int64_t block_vectors(const WindowPlan& plan, const Target& target) {
  const int64_t vectors = channel_vectors(plan, target), work = plan.plane.out_width * plan.plane.taps();
  return std::min(vectors, ceil_div(std::max<int64_t>(4, 8192 / work), 4) * 4);
}

int64_t channel_blocks(const WindowPlan& plan, const Target& target) {
  return ceil_div(channel_vectors(plan, target), block_vectors(plan, target));
}

GemmShape weight_shape(const WindowPlan& plan, const Target& target) {
  GemmShape shape = gemm_shape(window_weights(plan), target);
  shape.block_k = shape.k;  // all taps are decoded before the first is used
  return shape;
}

int64_t weight_row_bytes(const WindowPlan& plan, const Target& target) {
  if (plan.w_format.empty()) return window_weight_pitch(plan.channels) * 4;
  const GemmShape shape = weight_shape(plan, target);
  return shape.panels() * shape.row_bytes();
}

}  // namespace hone
