#include "device/x86/conv_weight_gradient/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/gemm/shape.h"

namespace hone {
namespace {

// Of d, a panel of 32 columns at so many places takes half of a first-level cache of 32 KB.
constexpr int64_t kBlockPlaces = 128;
// A block of 64 outputs and 64 channels at nine taps has 147 KB of sums: with the panels that is half of a second-level
// cache of 1 MB.
constexpr int64_t kBlockOutputs = 64, kBlockChannels = 64, kBlockTaps = 9;
// Enough for the threads of a small machine; a part of fewer places is joined for longer than it saves.
constexpr int64_t kItems = 16, kFewestPlaces = 1024;

// The largest part that `total` falls into evenly when none may exceed `most`.
int64_t even_part(int64_t total, int64_t most) { return ceil_div(total, ceil_div(total, std::max<int64_t>(1, most))); }

// The next smaller number of rows of which the panels of a block are made.
int divisor_below(int rows) {
  int smaller = std::max(1, rows - 1);
  while (rows % smaller != 0) --smaller;
  return smaller;
}

// Places along one dimension, and what they see of x.
int64_t seen(int64_t places, int64_t stride, int64_t kernel, int64_t dilation, int64_t extent) {
  return std::min(extent, (places - 1) * stride + (kernel - 1) * dilation + 1);
}

}  // namespace

int64_t WeightGradientShape::output_blocks() const { return ceil_div(outputs, block_outputs); }
int64_t WeightGradientShape::channel_blocks() const { return ceil_div(channels, block_channels); }
int64_t WeightGradientShape::sum_rows(int64_t taps) const { return (depthwise ? 1 : block_channels) * taps; }
// The last square that is stored is read as a whole.
int64_t WeightGradientShape::sums_bytes(int64_t taps) const {
  return (block_panels() * sum_rows(taps) + lanes) * columns() * 4;
}

WeightGradientShape weight_gradient_shape(const X86ConvWeightGradientPlan& plan, const X86Target& target, int shrink) {
  WeightGradientShape s;
  s.lanes = target.lanes();
  s.depthwise = plan.channels == 1 && plan.outputs == 1;
  s.groups = s.depthwise ? 1 : plan.groups;
  s.outputs = s.depthwise ? plan.groups : plan.outputs;
  s.channels = plan.channels;
  s.vectors = s.outputs > s.lanes ? 2 : 1;
  s.block_outputs = round_up(even_part(s.outputs, kBlockOutputs), s.columns());
  // 16 sums, two vectors of d and one element of x fit 32 registers with room to spare, 12 of 16.
  const int64_t most_rows = target.avx512() ? 8 : 6;
  s.rows = static_cast<int>(even_part(plan.channels, most_rows));
  const int64_t room = kBlockChannels * kBlockTaps / std::max<int64_t>(kBlockTaps, plan.window.taps());
  s.block_channels = round_up(even_part(plan.channels, std::max<int64_t>(room, s.rows)), s.rows);
  s.dot = !s.depthwise && plan.d == DType::bf16 && plan.x == DType::bf16 && dot_pays(target, s.rows, s.vectors, true);
  for (; shrink > 0; --shrink) s.rows = divisor_below(s.rows);
  return s;
}

int64_t most_parts(const X86ConvWeightGradientPlan& plan, const X86Target& target) {
  return ceil_div(kItems, weight_gradient_shape(plan, target).items_of_part());
}

PlaceBlocks place_blocks(const X86ConvWeightGradientPlan& plan, const X86Target& target,
                         const ConvWeightGradientArgs& args) {
  const PlaneWindow w = on_plane_of(plan.window, args.window);
  const int64_t images = args.images;
  PlaceBlocks b;
  b.columns = even_part(w.out_width, 2 * kBlockPlaces);
  b.rows = b.columns < w.out_width ? 1 : even_part(w.out_height, kBlockPlaces / b.columns);
  if (b.rows == w.out_height && b.columns == w.out_width)
    b.images = std::clamp<int64_t>(kBlockPlaces / (b.rows * b.columns), 1, std::max<int64_t>(images, 1));
  b.count = ceil_div(images, b.images) * ceil_div(w.out_height, b.rows) * ceil_div(w.out_width, b.columns);
  b.parts = std::min({most_parts(plan, target), b.count, images * w.out_height * w.out_width / kFewestPlaces});
  b.parts = std::max<int64_t>(b.parts, 1);
  const bool all = !plan.only_places;
  b.seen = b.images * (all ? seen(b.rows, w.stride_y, w.kernel_height, w.dilation_y, w.height) : b.rows) *
           (all ? seen(b.columns, w.stride_x, w.kernel_width, w.dilation_x, w.width) : b.columns);
  return b;
}

}  // namespace hone
