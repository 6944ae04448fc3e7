#include "device/x86/conv/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/conv/winograd_shape.h"

namespace hone {
namespace {

// Bytes of x in a block: with the panel they stay in a second-level cache of 1 MiB.
constexpr int64_t kBlockBytes = 320 << 10;

// Bytes of a run that is spread: every output pixel has one for each row of x, so longer ones would outgrow the block.
constexpr int64_t kLongestSpread = 16 * kTileStepBytes;

// Codes are always copied, as what multiplies them wants them: bytes or words. Spread runs are multiplied in place of
// those of a line.
void choose_place_of_x(ConvShape& s, const X86ConvPlan& plan, const X86Target& target) {
  const PlaneWindow& w = plan.window;
  const bool codes = plan.product.multiplies_codes();
  const bool tiles = plan.by_tiles;
  const int64_t element = !codes                        ? size_bytes(plan.product.a)
                          : tiles || target.byte_unit() ? 1
                                                        : 2,
                own = plan.channels * element;
  s.copied = codes || (!plan.inside_only && (plan.leaves_plane || (!plan.any_plane && leaves_plane(w))));
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
  if (gemm.tiles() && out_width <= kTileRows) return {std::min<int64_t>(2, out_height), out_width};
  if (gemm.tiles()) return {1, balanced_rows(most, out_width)};
  const int64_t height = std::clamp<int64_t>(most / out_width, 1, out_height);
  return {height, height > 1 ? out_width : balanced_rows(most, out_width)};
}

// A smaller tile leaves items and chains as they are: one output row divides any block.
void choose_strips(ConvShape& s, const PlaneWindow& w, const X86Target& target, int shrink) {
  const Strip rule = s.column_runs > 0 ? Strip{1, std::min<int64_t>(s.gemm.rows, w.out_width)}
                                       : strip_of(s.gemm, w.out_height, w.out_width);
  s.gemm.chains =
      s.column_runs > 0 ? 1 : tile_chains(s.gemm, rule.height * rule.width * s.gemm.vectors, target.avx512());
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
  // Rows that the window sees lie together, or each has its own.
  const int64_t apart = s.column_runs > 0 ? w.kernel_height : 1;
  const int64_t rows_in_cache = std::max<int64_t>(1, kBlockBytes / (s.row_bytes * w.stride_y * apart));
  s.blocks = ceil_div(w.out_height, std::min(w.out_height, rows_in_cache));
  s.block_rows = ceil_div(ceil_div(w.out_height, s.blocks), s.rule_height) * s.rule_height;
  s.blocks = ceil_div(w.out_height, s.block_rows);
  s.block_input_rows = (s.block_rows - 1) * w.stride_y + (w.kernel_height - 1) * w.dilation_y + 1;
}

// A panel's steps bring the next one into the second-level cache, in pairs of lines: weights of whole networks lie
// beyond it. Many strips read one panel often, and fetch too little each to be worth an instruction.
constexpr int64_t kMostFetchingStrips = 16;
int64_t fetched_beside_step(const ConvShape& s, const PlaneWindow& w) {
  const int64_t strips =
      w.out_width <= kTileRows ? ceil_div(s.block_rows, 2) : s.block_rows * ceil_div(w.out_width, int64_t{s.gemm.rows});
  if (strips > kMostFetchingStrips || s.gemm.panels() == 1) return 0;
  return round_up(ceil_div(kTileStepBytes * s.gemm.panel_columns(), strips), 128);
}

// Taps of a window along one dimension, of which those before and behind [0, extent) are left out.
struct Line {
  int64_t places, stride, before, taps, dilation, extent;

  // How many taps of the window at a place lie before `edge`, counted from the first element.
  int64_t taps_before(int64_t place, int64_t edge) const {
    const int64_t room = edge + before - place * stride;
    return room <= 0 ? 0 : std::min(taps, ceil_div(room, dilation));
  }
  int64_t taps_inside(int64_t place) const { return taps_before(place, extent) - taps_before(place, 0); }
};
Line rows_of(const PlaneWindow& w) {
  return {w.out_height, w.stride_y, w.pad_top, w.kernel_height, w.dilation_y, w.height};
}
Line columns_of(const PlaneWindow& w) {
  return {w.out_width, w.stride_x, w.pad_left, w.kernel_width, w.dilation_x, w.width};
}

// f(places, taps) for each run of places with the same taps inside, one behind the other.
template <class F>
void each_run(const Line& line, const F& f) {
  for (int64_t first = 0, place = 1; place <= line.places; ++place) {
    const bool goes_on = place < line.places && line.taps_before(place, 0) == line.taps_before(first, 0) &&
                         line.taps_before(place, line.extent) == line.taps_before(first, line.extent);
    if (goes_on) continue;
    f(place - first, line.taps_inside(first));
    first = place;
  }
}

// What strips of a row of pixels cost for each tap: as much as their pixels, or three where they are fewer.
int64_t cost_of_strips(int64_t pixels, int most) {
  constexpr int64_t kLeast = 3;
  const Strips strips = strips_of(pixels, most);
  return strips.taller * std::max(kLeast, strips.height + 1) +
         (strips.count - strips.taller) * std::max(kLeast, strips.height);
}

}  // namespace

// At least a tenth of the products must be saved.
bool skips_padding(const X86ConvPlan& plan, const X86Target& target) {
  const PlaneWindow& w = plan.window;
  const bool can = plan.method == X86ConvPlan::Method::direct && plan.leaves_plane && w.dilation_x > 1 &&
                   w.kernel_width > 1 && !plan.product.multiplies_codes() && !plan.has_x_zero && !plan.by_tiles &&
                   w.out_height > 0 && w.out_width > 0;
  if (!can) return false;
  const GemmShape gemm = panel_shape(laid_out_product(plan, target), target);
  const Strip usual = strip_of(gemm, w.out_height, w.out_width);
  int64_t rows = 0, columns = 0;  // of the window, for each output row; for each of its strips
  each_run(rows_of(w), [&](int64_t places, int64_t taps) { rows += places * taps; });
  each_run(columns_of(w), [&](int64_t places, int64_t taps) { columns += taps * cost_of_strips(places, gemm.rows); });
  const int64_t all = usual.height > 1 ? w.out_height * w.out_width * w.taps()
                                       : rows * w.kernel_width * cost_of_strips(w.out_width, gemm.rows);
  return 10 * rows * columns <= 9 * all;
}

int64_t pixels_of_line(const PlaneWindow& w) {
  return (w.out_width - 1) * w.stride_x + (w.kernel_width - 1) * w.dilation_x + 1;
}

int64_t ConvShape::fetched_of_strip(const PlaneWindow& w) const {
  return w.kernel_height * segments_x * (run_bytes / kTileStepBytes) * fetched_bytes;
}

int64_t ConvShape::panel_rows_of_window_row() const { return segments_x * gemm.rows_of(gemm.panel(), segment); }

X86ConvPlan on_plane_of(const X86ConvPlan& plan, const WindowSizes& sizes) {
  if (!plan.any_plane) return plan;
  X86ConvPlan placed = plan;
  placed.window = on_plane_of(plan.window, sizes);
  placed.any_plane = false;
  return placed;
}

void write_derived(const ConvShape& shape, KernelArgs& args) {
  auto derived = from_args<DirectConvArgs>(args);
  derived.strip_height = shape.strip_height, derived.chains = shape.gemm.chains;
  derived.row_bytes = shape.row_bytes, derived.copied_bytes = round_up(shape.copied_bytes(), 64);
  derived.block_rows = shape.block_rows, derived.blocks = shape.blocks;
  derived.column_runs = shape.column_runs;
  write_args(derived, args);
}

// All strips of planes up to a width from which on all have one of two heights.
std::set<ConvTile> tiles_of_any_plane(const X86ConvPlan& plan, const X86Target& target, int shrink) {
  const GemmShape gemm = conv_shape(plan, target).gemm;
  const int most = gemm.rows, shrunk = std::max(1, most - shrink);
  std::set<ConvTile> tiles;
  for (int rows = 1; plan.inside_only && rows <= shrunk; ++rows) tiles.insert({rows, 1});
  if (plan.inside_only) return tiles;
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

Support conv_support(const X86ConvPlan& plan, const X86Target& target) {
  if (plan.method != X86ConvPlan::Method::direct)
    if (Support r = winograd_support(plan); !r.supported()) return r;
  if (plan.inside_only &&
      (!plan.any_plane || plan.method != X86ConvPlan::Method::direct || plan.window.dilation_x == 1))
    return {"taps inside the plane alone, but for large dilation on any plane"};
  if (plan.product.multiplies_codes()) {
    if (plan.method != X86ConvPlan::Method::direct || plan.turned)
      return {"codes by another method than the sum itself"};
    if (plan.any_plane) return {"codes on any plane"};
    if (plan.channels % 4 != 0) return {fmt::format("codes of {} channels, which share lanes of four", plan.channels)};
  } else if (plan.has_x_zero) {
    return {"a code outside planes of floats"};
  }
  return gemm_support(plan.product, target);
}

X86GemmPlan laid_out_product(const X86ConvPlan& plan, const X86Target& target) {
  ConvShape s;
  choose_place_of_x(s, plan, target);
  X86GemmPlan product{plan.product, plan.by_tiles};
  const bool pairs = panel_shape(product, target).panel() == PanelType::pairs;
  if (s.spreads) product.k = product.k / s.segment * (s.run_bytes / size_bytes(product.a));
  else if (product.w_format.empty() && pairs && s.segment % 2 != 0) product.k = product.k / s.segment * (s.segment + 1);
  return product;
}

ConvShape conv_shape(const X86ConvPlan& plan, const X86Target& target, int shrink) {
  ConvShape s;
  choose_place_of_x(s, plan, target);
  s.gemm = panel_shape(laid_out_product(plan, target), target);
  s.gemm.take_all_k();  // a tile begins from 0
  // Pairs that are decoded must not straddle runs, and runs know no scales.
  if (s.gemm.codec && (s.gemm.scale_in_loop() || s.gemm.global_in_sums() || s.segment % 2 != 0))
    s.gemm.unit = ProductUnit::f32;
  if (s.run_bytes % kTileStepBytes != 0 && s.gemm.tiles())
    s.gemm.unit = s.gemm.integers() ? ProductUnit::int8 : ProductUnit::bf16;
  if (plan.any_plane) {
    s.gemm.rows = std::max(1, s.gemm.rows - shrink);
    return s;
  }
  if (plan.inside_only) each_run(columns_of(plan.window), [&](int64_t, int64_t) { ++s.column_runs; });
  choose_strips(s, plan.window, target, shrink);
  choose_blocks(s, plan.window);
  if (s.gemm.tiles()) s.fetched_bytes = fetched_beside_step(s, plan.window);
  return s;
}

}  // namespace hone
