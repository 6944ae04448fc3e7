#include "device/x86/gemm/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/amx/tile_rules.h"
#include "formats/packed.h"

namespace hone {
namespace {

// Vectors in a panel: the widest for which little of the last panel is wasted. Three only where nothing but the
// accumulators needs registers (dense weights, 32 registers: 8 x 3 accumulators, 3 of W, 1 of A = 28). One vector loads
// W once per eight products; its columns count a tenth more.
int choose_vectors(const GemmPlan& plan, bool avx512, int lanes) {
  if (plan.by_tiles) return tile_vectors(plan.n, lanes);
  if (plan.n == 0) return 2;
  const int widest = avx512 && plan.w_format.empty() ? 3 : 2;
  int best = 1;
  double best_cost = 1e300;
  for (int v = widest; v >= 1; --v) {
    const double cost = static_cast<double>(round_up(plan.n, int64_t{v} * lanes)) * (v == 1 ? 1.1 : 1);
    if (cost < best_cost) best = v, best_cost = cost;
  }
  return best;
}

// Rows of a tile so that accumulators, W, A and what decoding keeps fit the registers. At most 8 rows: with more, rows
// of A that lie a multiple of 4096 bytes apart evict each other from an 8-way first-level cache.
int most_rows(const GemmShape& s, bool avx512) {
  if (s.tiles) return kTileStripRows;
  const int v = s.vectors;
  if (s.source == WeightSource::codes) {
    const bool bytes = s.codec->stored_bits == 8;
    // Group sums beside the sums: 2 x 5 x 2 = 20, tables and pairs 9; f32 products need both halves of a pair.
    if (avx512) return bytes ? 4 : s.dot ? 5 : 3;
    return s.scale_in_loop ? 1 : 2;
  }
  if (s.scale_in_loop) return avx512 ? std::min(8, (30 - v) / (2 * v)) : 2;
  // Beside the sums: W as it lies and taken apart, a pair of A, products.
  if (s.integers && !s.dot) return std::clamp(((avx512 ? 32 : 16) - 2 * v - 2) / v, 1, 8);
  const bool split_w = s.panel == PanelType::pairs && !s.dot;  // low and high halves of W
  const bool split_a = s.a == DType::bf16 && !s.dot;           // and of A
  const int free = (avx512 ? 31 : 15) - (split_w ? 2 : 1) * v - (split_a ? 2 : 1);
  return std::clamp(free / v, 1, 8);
}

// One row of bf16 decodes at the speed of memory only when little else is to do: several panels at a time share the
// loads of A and give the sums eight independent chains.
int wide_item(const GemmShape& s, int64_t m) {
  return s.source == WeightSource::codes && s.dot && m == 1 && s.panels() >= 16 ? 4 : 1;
}

// Of an activation laid out at a time: 512 k of three vectors of f32 are 96 KB, which with as much of 256 rows of A
// (512 KB) stays in the second-level cache. A is read again for each item: once for four panels, unless that leaves few
// items.
constexpr int64_t kActivationBlock = 512;

void choose_activation_blocks(GemmShape& s, bool a_by_columns) {
  s.adds_blocks = s.k == 0 || s.k > kActivationBlock || a_by_columns;
  s.block_k = s.adds_blocks ? kActivationBlock : s.k;
  if (s.adds_blocks && s.n > 0) s.item_panels = s.panels() >= 16 ? 4 : s.panels() >= 8 ? 2 : 1;
}

void choose_source(GemmShape& s, const GemmPlan& plan, int64_t m, bool widens) {
  if (plan.weights != GemmPlan::Weights::prepacked) {
    s.source = WeightSource::activation;
    s.panel = s.dot && plan.w == DType::bf16 ? PanelType::pairs : PanelType::f32;
  } else if (!s.codec) {
    s.panel = s.plain = s.integers ? PanelType::quads : plan.w == DType::bf16 ? PanelType::pairs : PanelType::f32;
    s.keeps_panel = widens && m == 0 && s.panel == PanelType::pairs && !s.dot;
  } else {
    const bool few = m > 0;
    const bool by_vector = !s.unaligned_groups && !s.indexes_scales();  // a vector of scales goes with whole chunks
    const bool in_loop = few && by_vector && s.codec->decodes_in_loop();
    s.source = in_loop ? WeightSource::codes : WeightSource::unpacked;
    // Pairs must not straddle groups, and what columns of a vector don't share is folded into them.
    const bool aligned = !s.unaligned_groups && (s.group == s.k || s.group % 2 == 0);
    const bool pairs = s.codec->pairs && s.dot && (in_loop || (aligned && (by_vector || s.codec->folds_into_pairs)));
    s.panel = pairs ? PanelType::pairs : PanelType::f32;
    // Any scale folds into f32 as the format's own decode rule has it.
    const bool folded = !in_loop && (s.panel == PanelType::f32 || s.codec->folds_into_pairs);
    s.scale_in_loop = s.codec->scale.by != ScaleMeaning::By::none && !folded;
  }
}

// What is decoded at a time stays in the first-level cache, where the strips of the block read it: at most three
// quarters of the smallest one (32 KB), whole groups or a part of one, and a divisor of k. Below 4 KB the sums would be
// loaded and stored too often: then all of k.
int64_t choose_block_k(const GemmShape& s) {
  const int64_t k_bytes = s.row_bytes() / (s.panel == PanelType::f32 ? 1 : 2), chunk = s.codec->chunk_k();
  const int64_t most = 24 * 1024 / k_bytes, least = 4 * 1024 / k_bytes;
  if (s.crossing_groups || s.k <= most) return s.k;
  for (int64_t block = most / chunk * chunk; block >= least; block -= chunk)
    if (s.k % block == 0 && block % (s.tiles ? kTileK : 2) == 0 &&
        (block % s.group == 0 || (s.group % block == 0 && !s.unaligned_groups)))
      return block;
  return s.k;
}

// How many rows of the scale grid a vector of columns may meet.
int slots_of(const ScaleGrid& grid, int lanes, int64_t n) {
  const int64_t rows = grid.rows;
  if (rows == 0) return 1;
  if (rows == 1) return lanes;
  if (rows % lanes == 0 && n % lanes == 0) return 1;
  if (lanes % rows == 0 && n % rows == 0) return static_cast<int>(lanes / rows);
  return static_cast<int>((lanes - 2) / rows + 2);
}

void choose_scales(GemmShape& s, const Format& format) {
  const ScaleGrid grid = scale_grid(format);
  s.crossing_groups = grid.flattened && s.k % grid.columns != 0;
  s.group = s.crossing_groups || (grid.columns > 0 && grid.columns < s.k) ? grid.columns : s.k;
  s.unaligned_groups = s.crossing_groups || (s.group < s.k && s.group % s.codec->chunk_k() != 0);
  s.slots = s.codec->scale.by == ScaleMeaning::By::none ? 1 : slots_of(grid, s.lanes, s.n);
}

}  // namespace

bool dot_pays(const Target& target, int64_t m, int vectors, bool widened_rows) {
  const DotUnit* pairs = target.vector_unit(DType::bf16);
  if (!pairs) return false;
  const double v = vectors, rows = m > 0 ? static_cast<double>(std::min<int64_t>(m, 8)) : 8,
               multiply_adds = pairs->k * rows * v;
  return multiply_adds / pairs->rate <= multiply_adds + (widened_rows ? 0 : 2 * rows) + 2 * v;
}

int balanced_rows(int most, int64_t m) {
  return m <= 0 ? most : static_cast<int>(ceil_div(m, ceil_div(m, int64_t{most})));
}

Strips strips_of(int64_t rows, int most) {
  const int64_t count = ceil_div(rows, int64_t{most});
  return {count, rows / count, rows % count};
}

bool multiplies_as_many(const GemmPlan& plan, const Target& target, int64_t m) {
  const GemmShape many = gemm_shape(plan, target);
  for (; m <= kFewRows; ++m) {
    GemmShape few = gemm_shape(plan, target, m);
    few.rows = many.rows, few.fetches_panel = many.fetches_panel;
    if (few != many) return false;
  }
  return true;
}

// A multiply-add takes about four cycles and up to two start in each: eight independent sums keep the units busy. With
// scales in the loop each group starts new ones, so neighbouring groups overlap and two are enough; more would only add
// up; 16 registers have no room for more than two while decoding.
int tile_chains(const GemmShape& s, int64_t sums, bool avx512) {
  if (s.source == WeightSource::activation || (s.integers && !s.dot)) return 1;  // words are added in one cycle
  const int64_t most = s.scale_in_loop || (s.source == WeightSource::codes && !avx512) ? 2 : 4;
  return static_cast<int>(std::clamp<int64_t>(ceil_div(8, sums), 1, most));
}

int64_t GemmShape::block_rows(int64_t m) const {
  const int64_t blocks = std::max<int64_t>(1, (m + most_rows / 2) / most_rows);
  return round_up(ceil_div(m, blocks), 8);
}

int64_t GemmShape::scales_offset() const {
  if (!codec) return rows_of(plain, k) * row_bytes();
  return (unaligned_groups ? code_rows(k) : k / group * code_rows(group) + code_rows(k % group)) * row_bytes();
}

int64_t GemmShape::numbers_offset() const { return round_up(scales_offset() + groups() * scale_row_bytes(), 4); }

int64_t GemmShape::global_offset() const { return numbers_offset() + (indexes_scales() ? panel_columns() * 4 : 0); }

int64_t GemmShape::panel_bytes() const {
  if (plain == PanelType::quads) return round_up(scales_offset() + row_bytes(), 64);
  return round_up(codec ? global_offset() + (codec->has_global ? 4 : 0) : scales_offset(), 64);
}

int64_t GemmShape::unpacked_bytes() const { return round_up(rows_of(panel, block_k) * row_bytes(), 64); }

int64_t GemmShape::rows_bytes(int64_t block_rows) const {
  if (copies_columns) return round_up(block_k * column_bytes(block_rows), 64);
  if (copies_codes()) return round_up(round_up(block_rows, lanes) * code_row_bytes(), 64);
  if (!widens_rows && !turns_rows) return 0;
  const int64_t columns = source == WeightSource::activation && adds_blocks ? block_k : k;
  return round_up(round_up(block_rows, lanes) * columns * size_bytes(a), 64);
}

int64_t GemmShape::scratch_bytes(int64_t block_rows) const {
  const int64_t rows = rows_bytes(block_rows);
  const int64_t sums = adds_blocks ? item_panels * block_rows * row_bytes() : 0;
  if (source == WeightSource::dense || source == WeightSource::codes)
    return rows + sums + (keeps_panel ? k * row_bytes() : 0);
  return rows + sums + unpacked_bytes();
}

Support gemm_support(const GemmPlan& plan, const Target&) {
  const bool codes = plan.multiplies_codes();
  if (codes && (plan.weights != GemmPlan::Weights::prepacked || !plan.w_format.empty()))
    return {"codes beside others that are not laid out"};
  const auto is_plain = [&](DType d) {
    return codes ? d == DType::i8 || d == DType::u8 : d == DType::f32 || d == DType::bf16;
  };
  const int64_t least = plan.weights == GemmPlan::Weights::prepacked ? 1 : 0;
  if (plan.n < least || plan.k < least) return {fmt::format("a product with n = {}, k = {}", plan.n, plan.k)};
  if (plan.a_by_columns && least) return {"a transposed left operand beside weights that are laid out"};
  if (!is_plain(plan.a))
    return {fmt::format("activations of {} beside weights of {}; f32 and bf16 are multiplied, and i8 and u8 with i8",
                        to_string(plan.a), to_string(plan.w))};
  if (plan.w_format.empty() && !is_plain(plan.w))
    return {fmt::format("weights of {}; f32, bf16 and packed formats are multiplied", to_string(plan.w))};
  if (!plan.w_format.empty() && plan.weights != GemmPlan::Weights::prepacked)
    return {"packed activations; only constants are read packed"};
  if (plan.results.empty() ||
      plan.results.size() + plan.operands.size() + 2 > std::tuple_size_v<decltype(KernelArgs::pointers)>)
    return {fmt::format("{} operands and {} results", plan.operands.size(), plan.results.size())};
  size_t full = 0;
  for (const GemmPlan::Operand& o : plan.operands) full += o.access == GemmPlan::Access::full;
  if (full + 1 > GemmArgs().full_strides.size()) return {fmt::format("{} full operands", full)};
  return plan.w_format.empty() ? Support{} : prepackable(parse_format(plan.w_format));
}

namespace {

// Measured on Zen 5 at one row of 4,096 k: 2 KB of each of four panels, 16 of one.
int64_t choose_codes_ahead(const GemmShape& s, const Target& target) {
  if (s.source != WeightSource::codes || !target.rates().fetches_codes) return 0;
  return s.item_panels > 1 ? 2048 : 16384;
}

constexpr int64_t kLeastFetched = 64;  // k, below which what a strip costs beside its products would grow

// An item reads its W panel once for all of its rows. 128 rows make that cheap (0.5 byte per FLOP/ns), and 128 rows of
// A stay in the second-level cache beside the panel for K up to about 1500; beyond, A streams from the third at a few
// GB/s. Building a panel in scratch costs about as much as multiplying 8 rows, so such blocks are larger.
int64_t choose_rows(const GemmShape& s, const Target& target) {
  if (s.source != WeightSource::dense) return 256;
  return s.tiles ? choose_tile_rows(s, target) : 128;
}

// What a block of rows multiplies comes from memory, as all weights of a network seldom stay in a cache: the next panel
// while this one is multiplied. Tiles fetch the next block of k.
bool fetches_panel(const GemmShape& s) {
  const bool reads_panels = s.source == WeightSource::dense || s.source == WeightSource::unpacked;
  return reads_panels && !s.tiles && !s.adds_blocks && !s.scale_in_loop && s.k >= kLeastFetched;
}

GemmShape shape_of(const GemmPlan& plan, const Target& target, int64_t m, int shrink, bool widens, bool tiles) {
  CHECK(m <= kFewRows);
  const bool avx512 = target.avx512();
  GemmShape s;
  s.n = plan.n, s.k = plan.k, s.a = plan.a;
  s.integers = plan.multiplies_codes();
  s.lanes = target.lanes();
  s.vectors = choose_vectors(plan, avx512, s.lanes);
  s.tiles = tiles, s.fills_steps = plan.by_tiles;
  s.dot = plan.a == DType::bf16 && (!plan.w_format.empty() || plan.w == DType::bf16) &&
          (tiles || dot_pays(target, m, plan.weights == GemmPlan::Weights::prepacked ? s.vectors : 2,
                             widens));  // for any n
  if (!plan.w_format.empty()) {
    const Format format = parse_format(plan.w_format);
    s.codec = weight_codec(format, target);
    choose_scales(s, format);
  }
  choose_source(s, plan, m, widens);
  if (tiles && !tiles_can(s)) return shape_of(plan, target, m, shrink, widens, false);
  s.dot = s.integers ? tiles || target.byte_unit() : s.dot && s.panel == PanelType::pairs;
  if (s.integers && !tiles) s.offset = s.dot && plan.a == DType::i8, s.a = s.dot ? DType::u8 : DType::i16;
  s.widens_rows = widens && plan.a == DType::bf16 && !s.dot;
  s.turns_rows = plan.a_by_columns && plan.a == DType::bf16;
  s.copies_columns = plan.a_by_columns && !s.turns_rows;
  s.widens_rows &= !s.turns_rows;
  if (s.widens_rows || (s.turns_rows && !s.dot)) s.a = DType::f32;
  s.rows = balanced_rows(most_rows(s, avx512), m);
  s.item_panels = wide_item(s, m);
  s.codes_ahead = choose_codes_ahead(s, target);
  s.block_k = s.source == WeightSource::unpacked ? choose_block_k(s) : s.tiles ? choose_tile_block(s) : s.k;
  s.adds_blocks = s.block_k < s.k;
  s.most_rows = choose_rows(s, target);
  s.fetches_panel = m == 0 && fetches_panel(s);
  if (s.source == WeightSource::activation) choose_activation_blocks(s, plan.a_by_columns);
  s.chains = tile_chains(s, int64_t{s.rows} * s.vectors * s.item_panels, avx512);
  for (int i = 0; i < shrink && s.rows > 1; ++i) s.rows = balanced_rows(s.rows - 1, m);  // bits stay the same
  return s;
}

}  // namespace

GemmShape gemm_shape(const GemmPlan& plan, const Target& target, int64_t m, int shrink) {
  const bool packs = plan.weights != GemmPlan::Weights::prepacked;
  return shape_of(plan, target, m, shrink, true, plan.by_tiles && (m == 0 || packs));
}

GemmShape panel_shape(const GemmPlan& plan, const Target& target) {
  return shape_of(plan, target, 0, 0, false, plan.by_tiles);
}

GemmPlan::Rows only_rows(const GemmPlan& plan, const Target& target, int64_t m) {
  if (m <= kFewRows) return {.least = m, .most = m};
  const GemmShape s = gemm_shape(plan, target);
  const int64_t block = s.block_rows(m);
  GemmPlan::Rows rows{.least = kFewRows + 1, .shortest = s.rows, .tallest = 1};
  for (int64_t height : {std::min(block, m), m % block}) {
    if (height == 0) continue;
    const Strips strips = strips_of(height, s.rows);
    rows.shortest = std::min(rows.shortest, static_cast<int>(strips.height));
    rows.tallest = std::max(rows.tallest, static_cast<int>(strips.height + (strips.taller > 0)));
  }
  return rows;
}

}  // namespace hone
