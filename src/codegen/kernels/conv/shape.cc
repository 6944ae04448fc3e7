#include "codegen/kernels/conv/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "codegen/kernels/conv/winograd_shape.h"

namespace hone {
namespace {

// Bytes of x in a block: with the panel they stay in a second-level cache of 1 MiB.
constexpr int64_t kBlockBytes = 320 << 10;

// Bytes of a run that is spread: every output pixel has one for each row of x, so longer ones would outgrow the block.
constexpr int64_t kLongestSpread = 16 * kTileStepBytes;

bool leaves_plane(const PlaneWindow& w) {
  const auto outside = [](int64_t places, int64_t stride, int64_t kernel, int64_t dilation, int64_t before,
                          int64_t extent) {
    return before > 0 || (places - 1) * stride + (kernel - 1) * dilation + 1 > extent;
  };
  return outside(w.out_height, w.stride_y, w.kernel_height, w.dilation_y, w.pad_top, w.height) ||
         outside(w.out_width, w.stride_x, w.kernel_width, w.dilation_x, w.pad_left, w.width);
}

// Codes are always copied, as what multiplies them wants them: bytes or words. Spread runs are multiplied in place of
// those of a line.
void choose_place_of_x(ConvShape& s, const ConvPlan& plan, const Target& target) {
  const PlaneWindow& w = plan.window;
  const bool codes = plan.product.multiplies_codes();
  const bool tiles = plan.product.by_tiles;
  const int64_t element = !codes                        ? size_bytes(plan.product.a)
                          : tiles || target.byte_unit() ? 1
                                                        : 2,
                own = plan.channels * element;
  s.copied = codes || plan.leaves_plane || (!plan.any_plane && leaves_plane(w));
  // Rows of a tile that lie a multiple of 4096 bytes apart would evict each other from the first-level cache.
  if (s.copied) s.pixel_bytes = own * w.stride_x % 4096 == 0 ? own + 64 : own;
  else s.pixel_bytes = own * plan.groups;
  const bool together = w.dilation_x == 1 && s.pixel_bytes == own;
  s.segment = together ? w.kernel_width * plan.channels : plan.channels;
  s.segments_x = together ? 1 : w.kernel_width;
  const bool bounded = w.kernel_width * own <= kLongestSpread;
  s.spreads = tiles && bounded && w.dilation_x == 1 && plan.product.w_format.empty() &&
              s.segment * element % kTileStepBytes != 0;
  if (s.spreads) s.copied = true, s.pixel_bytes = own, s.segment = w.kernel_width * plan.channels, s.segments_x = 1;
  s.run_bytes = s.spreads ? round_up(s.segment * element, kTileStepBytes) : s.segment * element;
  s.across_bytes = !s.spreads ? w.stride_x * s.pixel_bytes : s.run_bytes % 4096 == 0 ? s.run_bytes + 64 : s.run_bytes;
}

// Output pixels of a tile of up to `most` rows: those of short rows together, or nearly equal pieces of a row.
struct Strip {
  int64_t height, width;
};
Strip strip_of(const GemmShape& gemm, int64_t out_height, int64_t out_width) {
  const int most = gemm.rows;
  if (gemm.tiles && out_width <= kTileRows) return {std::min<int64_t>(2, out_height), out_width};
  if (gemm.tiles) return {1, balanced_rows(most, out_width)};
  const int64_t height = std::clamp<int64_t>(most / out_width, 1, out_height);
  return {height, height > 1 ? out_width : balanced_rows(most, out_width)};
}

// A smaller tile leaves items and chains as they are: one output row divides any block.
void choose_strips(ConvShape& s, const PlaneWindow& w, const Target& target, int shrink) {
  const Strip rule = strip_of(s.gemm, w.out_height, w.out_width);
  s.gemm.chains = tile_chains(s.gemm, rule.height * rule.width * s.gemm.vectors, target.avx512());
  s.rule_height = rule.height;
  s.strip_height = shrink > 0 ? 1 : rule.height;
  s.strip_width = shrink > 0 ? balanced_rows(std::max(1, s.gemm.rows - shrink), w.out_width) : rule.width;
  s.gemm.rows = static_cast<int>(s.strip_height * s.strip_width);
}

void choose_blocks(ConvShape& s, const PlaneWindow& w) {
  s.row_bytes = s.spreads  ? w.out_width * s.across_bytes
                : s.copied ? pixels_of_line(w) * s.pixel_bytes
                           : w.width * s.pixel_bytes;
  s.line_bytes = s.spreads ? pixels_of_line(w) * s.pixel_bytes + kTileStepBytes : 0;  // its end is read by vectors
  const int64_t rows_in_cache = std::max<int64_t>(1, kBlockBytes / (s.row_bytes * w.stride_y));
  s.blocks = ceil_div(w.out_height, std::min(w.out_height, rows_in_cache));
  s.block_rows = ceil_div(ceil_div(w.out_height, s.blocks), s.rule_height) * s.rule_height;
  s.blocks = ceil_div(w.out_height, s.block_rows);
  s.block_input_rows = (s.block_rows - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y + 1;
}

}  // namespace

int64_t pixels_of_line(const PlaneWindow& w) {
  return (w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x + 1;
}

int64_t ConvShape::panel_rows_of_window_row() const { return segments_x * gemm.rows_of(gemm.panel, segment); }

void for_any_plane(ConvPlan& plan, KernelDims& dims) {
  plan.leaves_plane = plan.leaves_plane || leaves_plane(plan.window);
  plan.window = on_any_plane(plan.window, dims);
  plan.any_plane = true;
}

ConvPlan on_plane_of(const ConvPlan& plan, const KernelDims& dims) {
  if (!plan.any_plane) return plan;
  ConvPlan placed = plan;
  placed.window = on_plane_of(plan.window, dims);
  placed.any_plane = false;
  return placed;
}

void write_derived(const ConvShape& shape, KernelDims& dims) {
  dims[kConvStripHeight] = shape.strip_height, dims[kConvChains] = shape.gemm.chains;
  dims[kConvRowBytes] = shape.row_bytes, dims[kConvCopiedBytes] = round_up(shape.copied_bytes(), 64);
  dims[kConvBlockRows] = shape.block_rows, dims[kConvBlocks] = shape.blocks;
}

// All strips of planes up to a width from which on all have one of two heights.
std::set<ConvTile> tiles_of_any_plane(const ConvPlan& plan, const Target& target, int shrink) {
  const GemmShape gemm = conv_shape(plan, target).gemm;
  const int most = gemm.rows, shrunk = std::max(1, most - shrink);
  std::set<ConvTile> tiles;
  for (int64_t width = 1; width <= most * most; ++width)
    for (int64_t out_height = 1; out_height <= 2 * most; ++out_height) {
      const Strip rule = strip_of(gemm, out_height, width);
      const int chains = tile_chains(gemm, rule.height * rule.width * gemm.vectors, target.avx512());
      const int64_t band = shrink > 0 ? 1 : rule.height;
      for (int64_t rows : {band, out_height % band}) {
        if (rows == 0) continue;
        const Strips strips = strips_of(rows * width, shrunk);
        tiles.insert({static_cast<int>(strips.height), chains});
        if (strips.taller > 0) tiles.insert({static_cast<int>(strips.height + 1), chains});
      }
    }
  return tiles;
}

Support conv_support(const ConvPlan& plan, const Target& target) {
  if (plan.method != ConvPlan::Method::direct)
    if (Support r = winograd_support(plan); !r.supported()) return r;
  if (plan.product.multiplies_codes()) {
    if (plan.method != ConvPlan::Method::direct || plan.turned) return {"codes by another method than the sum itself"};
    if (plan.any_plane) return {"codes on any plane"};
    if (plan.channels % 4 != 0) return {fmt::format("codes of {} channels, which share lanes of four", plan.channels)};
  } else if (plan.has_x_zero) {
    return {"a code outside planes of floats"};
  }
  return gemm_support(plan.product, target);
}

namespace {

// What vectors multiply in the time of one f32 product.
double vector_rate(const ConvPlan& plan, const Target& target) {
  if (plan.product.multiplies_codes()) return target.byte_unit() ? target.byte_unit()->rate : 2;
  const DotUnit* pairs = target.vector_unit(DType::bf16);
  return std::max(1.0, pairs ? pairs->rate : 0);
}

}  // namespace

// Runs are spread where their share of whole steps leaves tiles one and a half times as fast as vectors: the rest goes
// into spreading.
bool fits_tiles(ConvPlan plan, const Target& target) {
  const DotUnit* tiles = target.tile_unit(plan.product.a);
  if (!tiles) return false;
  plan.product.by_tiles = true;
  plan.method = ConvPlan::Method::direct;
  const ConvShape s = conv_shape(plan, target);
  if (!s.gemm.tiles) return false;
  const double filled = static_cast<double>(s.segment * size_bytes(plan.product.a)) / static_cast<double>(s.run_bytes);
  return filled * tiles->rate >= 1.5 * vector_rate(plan, target) || !s.spreads;
}

GemmPlan laid_out_product(const ConvPlan& plan, const Target& target) {
  ConvShape s;
  choose_place_of_x(s, plan, target);
  GemmPlan product = plan.product;
  const bool pairs = panel_shape(product, target).panel == PanelType::pairs;
  if (s.spreads) product.k = product.k / s.segment * (s.run_bytes / size_bytes(product.a));
  else if (product.w_format.empty() && pairs && s.segment % 2 != 0) product.k = product.k / s.segment * (s.segment + 1);
  return product;
}

ConvShape conv_shape(const ConvPlan& plan, const Target& target, int shrink) {
  ConvShape s;
  choose_place_of_x(s, plan, target);
  s.gemm = panel_shape(laid_out_product(plan, target), target);
  s.gemm.block_k = s.gemm.k;
  s.gemm.adds_blocks = false;  // a tile has all of k, and begins from 0
  if (s.gemm.codec) {
    // Decoded once per block of rows. Pairs must not straddle runs, and runs know no scales.
    s.gemm.source = WeightSource::unpacked;
    if (s.gemm.scale_in_loop || s.gemm.global_in_sums() || s.segment % 2 != 0) {
      s.gemm.panel = PanelType::f32;
      s.gemm.dot = s.gemm.scale_in_loop = s.gemm.tiles = false;
    }
  }
  if (s.run_bytes % kTileStepBytes != 0) s.gemm.tiles = false;
  if (plan.any_plane) {
    s.gemm.rows = std::max(1, s.gemm.rows - shrink);
    return s;
  }
  choose_strips(s, plan.window, target, shrink);
  choose_blocks(s, plan.window);
  return s;
}

}  // namespace hone
