#include "device/x86/attention_gradient/shape.h"

#include <algorithm>

#include "base/multiples.h"

namespace hone {
namespace {

AttentionTiles tiles_of(const X86AttentionGradientPlan& plan, const X86Target& target, int shrink) {
  AttentionTiles t;
  t.lanes = target.lanes();
  t.key_vectors = attention_panel_vectors(plan.max_length, t.lanes);
  t.value_vectors = attention_panel_vectors(plan.attention.head_dim, t.lanes);
  t.rows = std::max(1, (target.avx512() ? 8 : 6) - shrink);  // 8 x 2 sums, 2 of W, 1 of A; 6 x 2 on 16 registers
  // Odd multiples of a cache line, so that rows of scores do not fall on the same lines of the first-level cache.
  t.score_stride = round_up(plan.max_length, t.key_columns());
  t.score_stride += (t.score_stride / 16) % 2 == 0 ? 16 : 32;
  return t;
}

}  // namespace

Support attention_gradient_support(const X86AttentionGradientPlan& plan, const X86Target& target) {
  if (plan.attention.dtype != DType::f32 || plan.attention.result != DType::f32)
    return {fmt::format("gradients of attention between {}", to_string(plan.attention.dtype))};
  if (plan.max_length < 1) return {fmt::format("length {}", plan.max_length)};
  return attention_support(plan.attention, target);
}

AttentionGradientShape attention_gradient_shape(const X86AttentionGradientPlan& plan, const X86Target& target,
                                                int shrink) {
  const AttentionPlan& attention = plan.attention;
  AttentionGradientShape s;
  s.tiles = tiles_of(plan, target, shrink);
  const int64_t rows = s.tiles.rows, length = plan.max_length, width = s.head_columns(attention.head_dim);
  // P and D of a block leave room for the panels in a second-level cache of 1 MB.
  s.block_queries = round_up(length <= 256 ? 128 : 64, rows);
  s.padded_keys = round_up(length, rows);
  int64_t end = 0;
  const auto place = [&](int64_t elements) {
    const int64_t start = end;
    end += round_up(elements * 4, 64);
    return start;
  };
  const int64_t key_columns = round_up(length, s.tiles.key_columns());
  s.score_keys = place(key_columns * attention.head_dim), s.values = place(key_columns * attention.head_dim);
  s.keys = place(width * length);
  s.queries = place(width * s.block_queries), s.d = place(width * s.block_queries);
  s.weights = place(s.block_queries * s.tiles.score_stride), s.d_scores = place(s.block_queries * s.tiles.score_stride);
  s.d_keys = place(width * s.padded_keys), s.d_values = place(width * s.padded_keys);
  s.strip = place(rows * attention.head_dim);
  s.scratch_bytes = end;
  return s;
}

}  // namespace hone
