#include "codegen/kernels/attention_gradient/shape.h"

#include <algorithm>

#include "base/multiples.h"

namespace hone {

Support attention_gradient_support(const AttentionGradientPlan& plan, const Target& target) {
  if (plan.attention.dtype != DType::f32 || plan.attention.result != DType::f32)
    return {fmt::format("gradients of attention between {}", to_string(plan.attention.dtype))};
  return attention_support(plan.attention, target);
}

AttentionGradientShape attention_gradient_shape(const AttentionGradientPlan& plan, const Target& target, int shrink) {
  const AttentionPlan& attention = plan.attention;
  AttentionGradientShape s;
  s.tiles = attention_shape(attention, target, shrink);
  const int64_t rows = s.tiles.rows, length = attention.max_length, width = s.head_columns(attention.head_dim);
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
