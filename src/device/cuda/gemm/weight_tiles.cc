#include "device/cuda/gemm/weight_tiles.h"

#include <algorithm>
#include <vector>

#include "kernels/packed_rows.h"

namespace hone {
namespace {

using By = CodeMeaning::By;

// Codes of 4 bits that two instructions make numbers of: integers, offset so that none is negative, and small floats.
void choose_codes(WeightTiles& t) {
  t.bits = t.meaning->bits;
  if (t.order != TileOrder::fragments || t.bits != 4) return;
  t.nibble_pairs = true;
  if (t.meaning->by == By::integer && t.meaning->is_signed) t.flipped = 8;
}

// Whether all columns of a tile share their scales, where rows of a convolution's group begin at a multiple of n, too.
bool shares_scales(const WeightTiles& t, const ScaleGrid& grid) {
  return grid.rows == 0 || (grid.rows % t.columns() == 0 && t.n % t.columns() == 0);
}

// Integers that differ by at most 256 units: codes less zero points are exact in bf16.
bool differences_exact_in_bf16(const CodeMeaning& m) {
  if (m.by != By::integer) return false;
  const auto [least, most] = std::ranges::minmax(m.values);
  return most - least <= 256 * m.unit && exact_in_bf16(m.unit);
}

}  // namespace

int WeightTiles::scale_bytes() const {
  if (!meaning || meaning->scale.by == ScaleMeaning::By::none) return 0;
  if (meaning->two_level) return 4;
  return meaning->scale.bits <= 8 ? 1 : meaning->scale.bits <= 16 ? 2 : 4;
}

WeightTiles::CodePlace WeightTiles::place(int column, int d) const {
  const int g = column % 8, j = column / 8;
  if (order == TileOrder::runs) return {4 * g + d / 8, 8 * j + d % 8};
  const int s = d / 16, r = d / 8 % 2, t = d / 2 % 4, e = d % 2;
  return {4 * g + t, 16 * j + 4 * s + 2 * r + e};
}

int WeightTiles::first_bit(int index) const {
  if (!nibble_pairs) return index * bits;
  return index / 8 * 32 + index % 2 * 16 + index / 2 % 4 * 4;
}

int64_t WeightTiles::word_offset(int word, int lane) const {
  for (const WordRun& run : word_runs(bits))
    if (word < run.first + run.count) return (32 * run.first + lane * run.count + word - run.first) * 4;
  CHECK(false);
}

std::vector<WordRun> word_runs(int bits) {
  std::vector<WordRun> runs;
  for (int first = 0; first < bits;) {
    const int count = bits - first >= 4 ? 4 : bits - first >= 2 ? 2 : 1;
    runs.push_back({first, count});
    first += count;
  }
  return runs;
}

bool multiplies_as_bf16(const Format& format, int64_t k) {
  const CodeMeaning& m = code_meaning(format);
  if (m.by > By::table || !m.exact_in_bf16) return false;
  if (m.zero_point_bytes && !differences_exact_in_bf16(m)) return false;
  const ScaleGrid grid = scale_grid(format);
  const int64_t group = grid.columns;
  if (group == 0 || group >= k) return !grid.flattened || k % group == 0;
  return !(grid.flattened && k % group != 0) && (group % 64 == 0 || (64 % group == 0 && group % 16 == 0));
}

WeightTiles weight_tiles(const GemmPlan& plan, TileOrder order) {
  WeightTiles t{.n = plan.n, .k = plan.k, .order = order};
  if (plan.w_format.empty()) {
    t.bits = plan.w == DType::f32 ? 32 : 16;
    return t;
  }
  const Format format = parse_format(plan.w_format);
  const ScaleGrid grid = scale_grid(format);
  t.meaning = &code_meaning(format);
  choose_codes(t);
  t.crossing = grid.flattened && t.k % grid.columns != 0;
  t.group = t.crossing || (grid.columns > 0 && grid.columns < t.k) ? grid.columns : t.k;
  t.slots = shares_scales(t, grid) ? 1 : t.columns();
  return t;
}

std::string weight_tiles_key(const WeightTiles& t, const GemmPlan& plan) {
  return fmt::format("{}x{} {} {}", t.n, t.k, plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format,
                     t.order == TileOrder::fragments ? "fragments" : "runs");
}

}  // namespace hone
