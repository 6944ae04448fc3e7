#include "codegen/kernels/attention/shape.h"

#include <algorithm>

#include "base/multiples.h"

namespace hone {
namespace {

int fitting_vectors(int64_t columns, int lanes) {
  const int64_t two = round_up(columns, 2 * lanes), one = round_up(columns, lanes);
  return two * 10 <= one * 11 ? 2 : 1;  // one vector at a time costs about a tenth more
}

}  // namespace

Support attention_support(const AttentionPlan& plan, const Target&) {
  if (plan.dtype != DType::f32 && plan.dtype != DType::bf16)
    return {fmt::format("q, k and v of {}; f32 and bf16 are multiplied", to_string(plan.dtype))};
  if (plan.heads < 1 || plan.kv_heads < 1 || plan.heads % plan.kv_heads != 0 || plan.head_dim < 1 ||
      plan.max_length < 1)
    return {fmt::format("{} heads over {} of {} columns, length {}", plan.heads, plan.kv_heads, plan.head_dim,
                        plan.max_length)};
  return {};
}

AttentionShape attention_shape(const AttentionPlan& plan, const Target& target, int shrink) {
  const bool avx512 = target.avx512();
  AttentionShape s;
  s.lanes = avx512 ? 16 : 8;
  s.dot = plan.dtype == DType::bf16 && dot_pays(target, 8, 2);
  s.keys = s.dot ? PanelType::pairs : PanelType::f32;
  s.key_vectors = fitting_vectors(plan.max_length, s.lanes);
  s.value_vectors = fitting_vectors(plan.head_dim, s.lanes);
  // 8 x 2 sums, 2 of W, 1 of A; on 16 registers 6 x 2, and 5 x 2 where bf16 rows of A are split into two.
  const bool split_a = plan.dtype == DType::bf16 && !s.dot;
  s.rows = std::max(1, (avx512 ? 8 : split_a ? 5 : 6) - shrink);
  // Odd multiples of a cache line, so that rows of scores do not fall on the same lines of the first-level cache.
  s.score_stride = round_up(plan.max_length, s.key_columns());
  s.score_stride += (s.score_stride / 16) % 2 == 0 ? 16 : 32;

  const int64_t key_rows = s.dot ? (plan.head_dim + 1) / 2 : plan.head_dim;
  int64_t end = 0;
  const auto place = [&](int64_t bytes) {
    const int64_t start = end;
    end += round_up(bytes, 64);
    return start;
  };
  s.keys_offset = place(round_up(plan.max_length, s.key_columns()) * key_rows * 4);
  s.values_offset = place(round_up(plan.head_dim, s.value_columns()) * plan.max_length * 4);
  s.scores_offset = place(s.rows * s.score_stride * 4);
  s.queries_offset = place(s.rows * int64_t{plan.head_dim} * size_bytes(plan.dtype));
  s.sums_offset = place(s.rows * 4);
  s.scratch_bytes = end;
  return s;
}

int64_t attention_items(const AttentionPlan& plan, int64_t batches, int64_t queries) {
  return batches * plan.heads * ((queries + kQueriesPerItem - 1) / kQueriesPerItem);
}

}  // namespace hone
