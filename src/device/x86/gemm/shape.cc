#include "device/x86/gemm/shape.h"

#include <algorithm>

#include "base/multiples.h"
#include "device/x86/amx/tile_rules.h"

namespace hone {
namespace {

// Rows of a tile so that accumulators, W, A and what decoding keeps fit the registers. At most 8 rows: with more, rows
// of A that lie a multiple of 4096 bytes apart evict each other from an 8-way first-level cache.
int most_rows(const GemmShape& s, bool avx512) {
  if (s.tiles()) return kTileStripRows;
  const int v = s.vectors;
  if (s.from<StreamedCodes>()) {
    const bool bytes = s.codec->stored_bits == 8;
    // Group sums beside the sums: 2 x 5 x 2 = 20, tables and pairs 9; f32 products need both halves of a pair.
    if (avx512) return bytes ? 4 : s.pairs() ? 5 : 3;
    return s.scale_in_loop() ? 1 : 2;
  }
  if (s.scale_in_loop()) return avx512 ? std::min(8, (30 - v) / (2 * v)) : 2;
  // Beside the sums: W as it lies and taken apart, a pair of A, products.
  if (s.unit == ProductUnit::int16) return std::clamp(((avx512 ? 32 : 16) - 2 * v - 2) / v, 1, 8);
  const bool split_w = s.panel() == PanelType::pairs && !s.pairs();  // low and high halves of W
  const bool split_a = s.a == DType::bf16 && !s.pairs();             // and of A
  const int free = (avx512 ? 31 : 15) - (split_w ? 2 : 1) * v - (split_a ? 2 : 1);
  return std::clamp(free / v, 1, 8);
}

// One row of bf16 decodes at the speed of memory only when little else is to do: several panels at a time share the
// loads of A and give the sums eight independent chains.
int wide_item(const GemmShape& s, int64_t m) { return s.pairs() && m == 1 && s.panels() >= 16 ? 4 : 1; }

// Measured on Zen 5 at one row of 4,096 k: 2 KB of each of four panels, 16 of one; on Emerald Rapids, 576 k: 2 and 8.
int64_t choose_codes_ahead(int panels, const X86Target& target) {
  const int64_t of_one = target.rates().codes_ahead;
  return panels > 1 ? std::min<int64_t>(of_one, 2048) : of_one;
}

// Of an activation laid out at a time: 512 k of three vectors of f32 are 96 KB, which with as much of 256 rows of A
// (512 KB) stays in the second-level cache. A is read again for each item: once for four panels, unless that leaves few
// items.
constexpr int64_t kActivationBlock = 512;

ActivationPanels choose_activation_blocks(const GemmShape& s, bool a_by_columns) {
  if (s.k > 0 && s.k <= kActivationBlock && !a_by_columns) return {.block_k = s.k};
  const int panels = s.n == 0 ? 1 : s.panels() >= 16 ? 4 : s.panels() >= 8 ? 2 : 1;
  return {.block_k = kActivationBlock, .adds_blocks = true, .panels = panels};
}

bool by_vector(const PanelLayout& s) { return !s.unaligned_groups() && !s.indexes_scales(); }

// Codes are decoded in the loop where rows are few and a vector of scales goes with whole chunks.
PanelSource source_of(const PanelLayout& s, const GemmPlan& plan, int64_t m) {
  if (plan.weights != GemmPlan::Weights::prepacked) return ActivationPanels();
  if (!s.codec) return DensePanels();
  if (m > 0 && by_vector(s) && s.codec->decodes_in_loop()) return StreamedCodes();
  return UnpackedCodes();
}

// Of weights that are decoded: pairs must not straddle groups, and what columns of a vector don't share is folded into
// them.
bool decodes_to_pairs(const GemmShape& s) {
  const bool aligned = !s.unaligned_groups() && (s.group == s.k || s.group % 2 == 0);
  return s.codec->pairs && (s.from<StreamedCodes>() || (aligned && (by_vector(s) || s.codec->folds_into_pairs)));
}

// What is decoded at a time stays in the first-level cache, where the strips of the block read it: at most three
// quarters of the smallest one (32 KB), whole groups or a part of one, and a divisor of k. Below 4 KB the sums would be
// loaded and stored too often: then all of k.
int64_t choose_block_k(const GemmShape& s) {
  const int64_t k_bytes = s.row_bytes() / (s.pairs() ? 2 : 1), chunk = s.codec->chunk_k();
  const int64_t most = 24 * 1024 / k_bytes, least = 4 * 1024 / k_bytes;
  if (s.crossing_groups() || s.k <= most) return s.k;
  for (int64_t block = most / chunk * chunk; block >= least; block -= chunk)
    if (s.k % block == 0 && block % (s.tiles() ? kTileK : 2) == 0 &&
        (block % s.group == 0 || (s.group % block == 0 && !s.unaligned_groups())))
      return block;
  return s.k;
}

// But for what follows from the number of rows alone.
GemmShape of_any_rows(GemmShape s) {
  s.rows = 0;
  if (auto* dense = std::get_if<DensePanels>(&s.source)) dense->fetches_next = false;
  if (auto* codes = std::get_if<UnpackedCodes>(&s.source)) codes->fetches_next = false, codes->ahead = 0;
  return s;
}

}  // namespace

bool dot_pays(const X86Target& target, int64_t m, int vectors, bool widened_rows) {
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

bool multiplies_as_many(const X86GemmPlan& plan, const X86Target& target, int64_t m) {
  const GemmShape many = of_any_rows(gemm_shape(plan, target));
  for (; m <= kFewRows; ++m)
    if (of_any_rows(gemm_shape(plan, target, m)) != many) return false;
  return true;
}

// A multiply-add takes about four cycles and up to two start in each: eight independent sums keep the units busy. With
// scales in the loop each group starts new ones, so neighbouring groups overlap and two are enough; more would only add
// up; 16 registers have no room for more than two while decoding.
int tile_chains(const GemmShape& s, int64_t sums, bool avx512) {
  if (s.from<ActivationPanels>() || s.unit == ProductUnit::int16) return 1;  // words are added in one cycle
  const int64_t most = s.scale_in_loop() || (s.from<StreamedCodes>() && !avx512) ? 2 : 4;
  return static_cast<int>(std::clamp<int64_t>(ceil_div(8, sums), 1, most));
}

int64_t GemmShape::block_rows(int64_t m) const {
  const int64_t blocks = std::max<int64_t>(1, (m + most_rows / 2) / most_rows);
  return round_up(ceil_div(m, blocks), 8);
}

int64_t GemmShape::block_k() const {
  if (const auto* dense = from<DensePanels>()) return dense->block_k;
  if (const auto* codes = from<UnpackedCodes>()) return codes->block_k;
  if (const auto* activation = from<ActivationPanels>()) return activation->block_k;
  return k;
}

bool GemmShape::adds_blocks() const {
  if (const auto* activation = from<ActivationPanels>()) return activation->adds_blocks;
  return block_k() < k;
}

int GemmShape::item_panels() const {
  if (const auto* codes = from<StreamedCodes>()) return codes->panels;
  const auto* activation = from<ActivationPanels>();
  return activation ? activation->panels : 1;
}

bool GemmShape::fetches_next() const {
  if (const auto* dense = from<DensePanels>()) return dense->fetches_next;
  const auto* codes = from<UnpackedCodes>();
  return codes && codes->fetches_next;
}

void GemmShape::take_all_k() {
  if (auto* dense = std::get_if<DensePanels>(&source)) dense->block_k = k;
  if (auto* codes = std::get_if<UnpackedCodes>(&source)) codes->block_k = k;
}

int64_t GemmShape::unpacked_bytes() const { return round_up(rows_of(panel(), block_k()) * row_bytes(), 64); }

int64_t GemmShape::rows_bytes(int64_t block_rows) const {
  const int64_t stored = round_up(block_rows, lanes);
  switch (left) {
    case LeftRows::as_they_lie:
      return 0;
    case LeftRows::columns:
      return round_up(block_k() * column_bytes(block_rows), 64);
    case LeftRows::codes:
      return round_up(stored * code_row_bytes(), 64);
    case LeftRows::widened:
    case LeftRows::turned:
      return round_up(stored * (from<ActivationPanels>() ? block_k() : k) * size_bytes(a), 64);
  }
  CHECK(false);
}

int64_t GemmShape::scratch_bytes(int64_t block_rows) const {
  const int64_t rows = rows_bytes(block_rows);
  const int64_t sums = adds_blocks() ? item_panels() * block_rows * row_bytes() : 0;
  if (const auto* dense = from<DensePanels>()) return rows + sums + (dense->keeps ? k * row_bytes() : 0);
  return rows + sums + (from<StreamedCodes>() ? 0 : unpacked_bytes());
}

Support gemm_support(const GemmPlan& plan, const X86Target&) {
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

ProductUnit choose_unit(GemmShape s, const GemmPlan& plan, const X86Target& target, int64_t m, bool widens,
                        bool tiles) {
  if (plan.multiplies_codes())
    return tiles ? ProductUnit::int8_tiles : target.byte_unit() ? ProductUnit::int8 : ProductUnit::int16;
  const bool pairs = plan.a == DType::bf16 && (s.codec ? decodes_to_pairs(s) : plan.w == DType::bf16);
  if (!pairs) return ProductUnit::f32;
  s.unit = ProductUnit::bf16_tiles;
  if (tiles && tiles_can(s)) return s.unit;
  const int vectors = plan.weights == GemmPlan::Weights::prepacked ? s.vectors : 2;  // for any n
  return dot_pays(target, m, vectors, widens) ? ProductUnit::bf16 : ProductUnit::f32;
}

LeftRows choose_left(const GemmShape& s, const GemmPlan& plan, bool widens) {
  if (s.integers()) return s.tiles() && s.k % step_k(s.plain) == 0 ? LeftRows::as_they_lie : LeftRows::codes;
  if (plan.a_by_columns) return plan.a == DType::bf16 ? LeftRows::turned : LeftRows::columns;
  return widens && plan.a == DType::bf16 && !s.pairs() ? LeftRows::widened : LeftRows::as_they_lie;
}

constexpr int64_t kLeastFetched = 64;  // k, below which what a strip costs beside its products would grow

// An item reads its W panel once for all of its rows. 128 rows make that cheap (0.5 byte per FLOP/ns), and 128 rows of
// A stay in the second-level cache beside the panel for K up to about 1500; beyond, A streams from the third at a few
// GB/s. Building a panel in scratch costs about as much as multiplying 8 rows, so such blocks are larger.
int64_t choose_rows(const GemmShape& s, const X86Target& target) {
  if (!s.from<DensePanels>()) return 256;
  return s.tiles() ? choose_tile_rows(s, target) : 128;
}

// What a block of rows multiplies comes from memory, as all weights of a network seldom stay in a cache: the next panel
// while this one is multiplied. Tiles fetch the next block of k.
bool fetches_panel(const GemmShape& s, int64_t m, int64_t block_k) {
  return m == 0 && !s.tiles() && block_k == s.k && !s.scale_in_loop() && s.k >= kLeastFetched;
}

// How the source that a shape has is read.
PanelSource choose_source(const GemmShape& s, const GemmPlan& plan, const X86Target& target, int64_t m, bool widens) {
  if (s.from<ActivationPanels>()) return choose_activation_blocks(s, plan.a_by_columns);
  if (s.from<StreamedCodes>()) {
    const int panels = wide_item(s, m);
    return StreamedCodes{.panels = panels, .ahead = choose_codes_ahead(panels, target)};
  }
  if (s.from<UnpackedCodes>()) {
    const int64_t block_k = choose_block_k(s);
    return UnpackedCodes{.block_k = block_k,
                         .fetches_next = fetches_panel(s, m, block_k),
                         .ahead = m > 0 && block_k == s.k ? choose_codes_ahead(1, target) : 0};
  }
  const int64_t block_k = s.tiles() ? choose_tile_block(s) : s.k;
  return DensePanels{.block_k = block_k,
                     .keeps = widens && m == 0 && s.plain == PanelType::pairs && !s.pairs(),
                     .fetches_next = fetches_panel(s, m, block_k)};
}

GemmShape shape_of(const X86GemmPlan& plan, const X86Target& target, int64_t m, int shrink, bool widens, bool tiles) {
  CHECK(m <= kFewRows);
  GemmShape s{panel_layout(plan, target)};
  s.source = source_of(s, plan, m);
  s.unit = choose_unit(s, plan, target, m, widens, tiles);
  s.left = choose_left(s, plan, widens);
  const bool widened = s.left == LeftRows::widened || (s.left == LeftRows::turned && !s.pairs());
  s.a = widened ? DType::f32 : s.unit == ProductUnit::int16 ? DType::i16 : plan.a;
  s.rows = balanced_rows(most_rows(s, target.avx512()), m);
  s.source = choose_source(s, plan, target, m, widens);
  s.most_rows = choose_rows(s, target);
  s.chains = tile_chains(s, int64_t{s.rows} * s.vectors * s.item_panels(), target.avx512());
  for (int i = 0; i < shrink && s.rows > 1; ++i) s.rows = balanced_rows(s.rows - 1, m);  // bits stay the same
  return s;
}

}  // namespace

GemmShape gemm_shape(const X86GemmPlan& plan, const X86Target& target, int64_t m, int shrink) {
  const bool packs = plan.weights != GemmPlan::Weights::prepacked;
  return shape_of(plan, target, m, shrink, true, plan.by_tiles && (m == 0 || packs));
}

GemmShape panel_shape(const X86GemmPlan& plan, const X86Target& target) {
  return shape_of(plan, target, 0, 0, false, plan.by_tiles);
}

X86GemmPlan::Rows only_rows(const X86GemmPlan& plan, const X86Target& target, int64_t m) {
  if (m <= kFewRows) return {.least = m, .most = m};
  const GemmShape s = gemm_shape(plan, target);
  const int64_t block = s.block_rows(m);
  X86GemmPlan::Rows rows{.least = kFewRows + 1, .shortest = s.rows, .tallest = 1};
  for (int64_t height : {std::min(block, m), m % block}) {
    if (height == 0) continue;
    const Strips strips = strips_of(height, s.rows);
    rows.shortest = std::min(rows.shortest, static_cast<int>(strips.height));
    rows.tallest = std::max(rows.tallest, static_cast<int>(strips.height + (strips.taller > 0)));
  }
  return rows;
}

}  // namespace hone
