#include "device/x86/attention/shape.h"

#include <algorithm>

#include "base/checked.h"
#include "device/x86/amx/tile_rules.h"
#include "ops/head_rows.h"

namespace hone {

Support attention_support(const AttentionPlan& plan, const X86Target&) {
  if (plan.dtype != DType::f32 && plan.dtype != DType::bf16)
    return {fmt::format("q, k and v of {}; f32 and bf16 are multiplied", to_string(plan.dtype))};
  if (plan.heads < 1 || plan.kv_heads < 1 || plan.heads % plan.kv_heads != 0 || plan.head_dim < 1 || plan.value_dim < 1)
    return {
        fmt::format("{} heads over {} of {} and {} columns", plan.heads, plan.kv_heads, plan.head_dim, plan.value_dim)};
  for (const auto& [format, columns] : {std::pair(plan.k_format, plan.head_dim), {plan.v_format, plan.value_dim}})
    if (!format.empty() && (plan.dtype != DType::f32 || !head_rows(parse_format(format), plan.kv_heads, columns)))
      return {fmt::format("{} heads of {} columns in {}, multiplied as {}", plan.kv_heads, columns, format,
                          to_string(plan.dtype))};
  if (plan.page_rows < 0 || (plan.table != DType::i64 && plan.table != DType::i32))
    return {fmt::format("pages of {} rows, numbered in {}", plan.page_rows, to_string(plan.table))};
  constexpr int kWidest = 4096;  // so that a strip and a block of keys fit the caches that they are meant for
  if (plan.head_dim > kWidest || plan.value_dim > kWidest)
    return {
        fmt::format("heads of {} and {} columns; up to {} are kept in cache", plan.head_dim, plan.value_dim, kWidest)};
  return {};
}

int attention_panel_vectors(int64_t columns, int lanes) {
  const int64_t two = round_up(columns, 2 * lanes), one = round_up(columns, lanes);
  return two * 10 <= one * 11 ? 2 : 1;  // one vector at a time costs about a tenth more
}

AttentionShape attention_shape(const AttentionPlan& plan, const X86Target& target, int shrink) {
  AttentionShape s;
  s.lanes = target.lanes();
  if (fits_tiles(plan, target)) s.unit = ProductUnit::bf16_tiles;
  else if (plan.dtype == DType::bf16 && dot_pays(target, 8, 2)) s.unit = ProductUnit::bf16;
  s.key_vectors = s.tiles() ? tile_vectors(0, s.lanes) : 2;
  s.value_vectors =
      s.tiles() ? tile_vectors(plan.value_dim, s.lanes) : attention_panel_vectors(plan.value_dim, s.lanes);
  s.rows = std::max(1, (target.avx512() ? 8 : 6) - shrink);  // 8 x 2 sums, 2 of W, 1 of A; 6 x 2 on 16 registers
  if (s.tiles()) s.rows = s.lanes;                           // that a vector has the largest score of each
  s.value_width = round_up(plan.value_dim, s.value_columns());

  // Keys and values of a block take an eighth of a second-level cache of 1 MB, whatever the target's: the block decides
  // bits. What queries keep takes about as much again.
  const int64_t width = plan.head_dim + s.value_width, element = s.pairs() ? 2 : 4;
  s.block_keys = std::clamp<int64_t>((int64_t{128} << 10) / (width * element) / 32 * 32, 32, 512);
  const int64_t kept = int64_t{s.rows} * (s.value_width + s.lanes) * 4, cache = target.l2_bytes();
  s.item_strips = std::clamp<int64_t>((cache ? cache : int64_t{1} << 20) / 3 / kept, 4, 64);

  // Odd multiples of a cache line, so that rows do not fall on the same lines of the first-level cache.
  s.score_stride = s.block_keys + 16;
  s.weight_stride_bytes = s.pairs() ? s.block_keys * 2 + 64 : s.score_stride * 4;
  s.query_row_bytes = s.pairs() ? round_up(plan.head_dim, 2) * 2 : int64_t{plan.head_dim} * 4;
  int64_t end = 0;
  const auto place = [&](int64_t bytes) {
    const int64_t start = end;
    end += round_up(bytes, 64);
    return start;
  };
  s.keys_offset = place(round_up(s.block_keys, s.key_columns()) * round_up(plan.head_dim, 2) * element);
  s.values_offset = place(s.value_width * s.block_keys * element);
  s.scores_offset = place(s.rows * s.score_stride * 4);
  s.weights_offset = s.pairs() ? place(s.rows * s.weight_stride_bytes) : s.scores_offset;
  s.maxima_offset = place(s.vector_bytes());
  s.alphas_offset = place(s.vector_bytes());
  if (plan.is_packed() || plan.page_rows > 0)
    s.staged_offset = place(kStagedRows * std::max(plan.head_dim, plan.value_dim) * 4);
  s.queries_offset = place(s.item_strips * s.strip_queries_bytes());
  s.states_offset = place(s.item_strips * s.state_bytes());
  s.scratch_bytes = end;
  return s;
}

int64_t attention_rows_in_rows(const AttentionPlan& plan, int64_t keys) {
  constexpr int64_t kFewKeys = 24;  // of which a panel would be far from full
  if (keys <= kFewKeys) return 16;
  if (plan.head_dim < 48) return 4;
  return plan.dtype == DType::f32 ? 16 : 8;
}

// Two blocks, some 20 us of reading them, or so many that the states of their strips are a thirtieth of what they are
// made from.
int64_t attention_range_keys(const AttentionPlan& plan, const AttentionShape& shape, int64_t queries) {
  const int64_t rows = queries * (plan.heads / plan.kv_heads);
  return shape.block_keys * std::max<int64_t>(2, ceil_div(rows, 8));
}

int64_t AttentionItems::strips(const AttentionShape& shape) const {
  if (per_head != kSeesAll) return ceil_div(heads * per_head, int64_t{shape.rows});
  return heads * std::max<int64_t>(1, ceil_div(queries, int64_t{shape.rows}));
}

// As many queries as scratch keeps, of several heads where one has few; fewer where that leaves threads without work.
AttentionItems attention_items(const X86AttentionPlan& plan, const AttentionShape& shape, int64_t batches,
                               int64_t queries, int64_t keys) {
  constexpr int64_t kEnough = 8;     // items
  constexpr int64_t kFewStrips = 8;  // for which laying out keys costs about an eighth
  const int64_t sharing = plan.heads / plan.kv_heads,
                strips = std::max<int64_t>(1, ceil_div(queries, int64_t{shape.rows}));
  AttentionItems items;
  if (sharing > 1 && queries > 0 && queries < shape.rows) items.per_head = queries;
  if (const int64_t range = attention_range_keys(plan, shape, queries);
      plan.splits && queries <= kSplitQueries && keys > range)
    items.range_keys = range, items.ranges = ceil_div(keys, range);
  const auto split = [&](int64_t most) {
    const bool filled = items.per_head != kSeesAll;
    items.heads = std::clamp<int64_t>(filled ? most * shape.rows / queries : most / strips, 1, sharing);
    items.queries = ceil_div(strips, ceil_div(strips, most)) * shape.rows;
    items.count = batches * plan.kv_heads * ceil_div(sharing, items.heads) * ceil_div(queries, items.queries);
  };
  split(shape.item_strips);
  for (int64_t most = shape.item_strips / 2; items.count * items.ranges < kEnough && most >= kFewStrips; most /= 2)
    split(most);
  return items;
}

int64_t attention_shared_bytes(const X86AttentionPlan& plan, const AttentionShape& shape, const AttentionArgs& args) {
  if (!plan.splits) return 0;
  const AttentionItems items = attention_items(plan, shape, args.batches, args.queries, args.keys);
  if (items.ranges == 1) return 0;
  return checked_mul(checked_mul(items.count, items.ranges), items.strips(shape) * shape.state_bytes());
}

}  // namespace hone
