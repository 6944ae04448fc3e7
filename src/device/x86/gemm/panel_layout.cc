#include "device/x86/gemm/panel_layout.h"

#include "device/x86/amx/tile_rules.h"

namespace hone {
namespace {

// Vectors in a panel: the widest for which little of the last panel is wasted. Three only where nothing but the
// accumulators needs registers (dense weights, 32 registers: 8 x 3 accumulators, 3 of W, 1 of A = 28). One vector loads
// W once per eight products; its columns count a tenth more.
int choose_vectors(const X86GemmPlan& plan, bool avx512, int lanes) {
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

// How many rows of the scale grid a vector of columns may meet.
int slots_of(const ScaleGrid& grid, int lanes, int64_t n) {
  const int64_t rows = grid.rows;
  if (rows == 0) return 1;
  if (rows == 1) return lanes;
  if (rows % lanes == 0 && n % lanes == 0) return 1;
  if (lanes % rows == 0 && n % rows == 0) return static_cast<int>(lanes / rows);
  return static_cast<int>((lanes - 2) / rows + 2);
}

void choose_scales(PanelLayout& s, const Format& format) {
  const ScaleGrid grid = scale_grid(format);
  const bool crossing = grid.flattened && s.k % grid.columns != 0;
  s.group = crossing || (grid.columns > 0 && grid.columns < s.k) ? grid.columns : s.k;
  if (crossing) s.group_ends = GroupEnds::across_rows;
  else if (s.group < s.k && s.group % s.codec->chunk_k() != 0) s.group_ends = GroupEnds::in_chunks;
  s.slots = s.codec->scale.by == ScaleMeaning::By::none ? 1 : slots_of(grid, s.lanes, s.n);
}

}  // namespace

PanelLayout panel_layout(const X86GemmPlan& plan, const X86Target& target) {
  PanelLayout s;
  s.n = plan.n, s.k = plan.k;
  s.lanes = target.lanes();
  s.vectors = choose_vectors(plan, target.avx512(), s.lanes);
  s.fills_steps = plan.by_tiles;
  if (!plan.w_format.empty()) {
    const Format format = parse_format(plan.w_format);
    s.codec = weight_codec(format, target);
    choose_scales(s, format);
  } else if (plan.weights == GemmPlan::Weights::prepacked) {
    s.plain = plan.multiplies_codes() ? PanelType::quads : plan.w == DType::bf16 ? PanelType::pairs : PanelType::f32;
  }
  return s;
}

int64_t PanelLayout::scales_offset() const {
  if (!codec) return rows_of(plain, k) * row_bytes();
  return (unaligned_groups() ? code_rows(k) : k / group * code_rows(group) + code_rows(k % group)) * row_bytes();
}

int64_t PanelLayout::numbers_offset() const { return round_up(scales_offset() + groups() * scale_row_bytes(), 4); }

int64_t PanelLayout::global_offset() const { return numbers_offset() + (indexes_scales() ? panel_columns() * 4 : 0); }

int64_t PanelLayout::panel_bytes() const {
  if (plain == PanelType::quads) return round_up(scales_offset() + row_bytes(), 64);
  return round_up(codec ? global_offset() + (codec->has_global ? 4 : 0) : scales_offset(), 64);
}

}  // namespace hone
