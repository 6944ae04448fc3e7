#include "codegen/kernels/conv/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "codegen/kernels/conv/winograd_shape.h"

namespace hone {
namespace {

// Bytes of x in a block: with the panel they stay in a second-level cache of 1 MiB.
constexpr int64_t kBlockBytes = 320 << 10;

bool leaves_plane(const PlaneWindow& w) {
  const auto outside = [](int64_t places, int64_t stride, int64_t kernel, int64_t dilation, int64_t before,
                          int64_t extent) {
    return before > 0 || (places - 1) * stride + (kernel - 1) * dilation + 1 > extent;
  };
  return outside(w.out_height, w.stride_y, w.kernel_height, w.dilation_y, w.pad_top, w.height) ||
         outside(w.out_width, w.stride_x, w.kernel_width, w.dilation_x, w.pad_left, w.width);
}

void choose_place_of_x(ConvShape& s, const ConvPlan& plan) {
  const PlaneWindow& w = plan.window;
  const int64_t element = size_bytes(plan.product.a), own = plan.channels * element;
  s.copied = leaves_plane(w);
  if (s.copied) {
    // Rows of a tile that lie a multiple of 4096 bytes apart would evict each other from the first-level cache.
    s.pixel_bytes = own * w.stride_x % 4096 == 0 ? own + 64 : own;
    s.row_bytes = ((w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x + 1) * s.pixel_bytes;
  } else {
    s.pixel_bytes = own * plan.groups;
    s.row_bytes = w.width * s.pixel_bytes;
  }
  const bool together = w.dilation_x == 1 && s.pixel_bytes == own;
  s.segment = together ? w.kernel_width * plan.channels : plan.channels;
  s.segments_x = together ? 1 : w.kernel_width;
}

}  // namespace

int64_t ConvShape::panel_rows_of_window_row() const {
  return segments_x * (gemm.panel == PanelType::pairs ? (segment + 1) / 2 : segment);
}

Refusal conv_refusal(const ConvPlan& plan, const Target& target) {
  if (plan.method != ConvPlan::Method::direct)
    if (Refusal r = winograd_refusal(plan); !r.accepted()) return r;
  return gemm_refusal(plan.product, target);
}

GemmPlan laid_out_product(const ConvPlan& plan, const Target& target) {
  ConvShape s;
  choose_place_of_x(s, plan);
  GemmPlan product = plan.product;
  const bool pairs = gemm_shape(product, target).panel == PanelType::pairs;
  if (product.w_format.empty() && pairs && s.segment % 2 != 0) product.k = product.k / s.segment * (s.segment + 1);
  return product;
}

ConvShape conv_shape(const ConvPlan& plan, const Target& target, int shrink) {
  const PlaneWindow& w = plan.window;
  ConvShape s;
  choose_place_of_x(s, plan);
  s.gemm = gemm_shape(laid_out_product(plan, target), target);
  if (s.gemm.codec) {
    // Decoded once per block of rows. Pairs must not straddle runs, and runs know no scales.
    s.gemm.source = WeightSource::unpacked;
    s.gemm.block_k = s.gemm.k;
    if (s.gemm.scale_in_loop || s.gemm.global_in_sums() || s.segment % 2 != 0) {
      s.gemm.panel = PanelType::f32;
      s.gemm.dot = s.gemm.scale_in_loop = false;
    }
  }
  // A smaller tile leaves items as they are: one output row divides any block.
  const int64_t height = std::clamp<int64_t>(s.gemm.rows / w.out_width, 1, w.out_height);
  s.strip_height = shrink > 0 ? 1 : height;
  s.strip_width =
      height > 1 && shrink == 0 ? w.out_width : balanced_rows(std::max(1, s.gemm.rows - shrink), w.out_width);
  // What decides bits is the rule's tile.
  const int64_t width = height > 1 ? w.out_width : balanced_rows(s.gemm.rows, w.out_width);
  s.gemm.chains = tile_chains(s.gemm, height * width * s.gemm.vectors, target.avx512());
  s.gemm.rows = static_cast<int>(s.strip_height * s.strip_width);
  const int64_t rows_in_cache = std::max<int64_t>(1, kBlockBytes / (s.row_bytes * w.stride_y));
  s.blocks = ceil_div(w.out_height, std::min(w.out_height, rows_in_cache));
  s.block_rows = ceil_div(ceil_div(w.out_height, s.blocks), height) * height;
  s.blocks = ceil_div(w.out_height, s.block_rows);
  s.block_input_rows = (s.block_rows - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y + 1;
  return s;
}

}  // namespace hone
