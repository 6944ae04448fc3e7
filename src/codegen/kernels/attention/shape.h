// How an attention kernel works: what planner and generator agree on.
//
// An item is one head and a block of queries. It lays the keys and values of the head out as panels in scratch, then
// takes the queries in strips: scores of a strip (rows x keys) stay in the first-level cache through softmax and the
// product with the values.
#pragma once

#include "base/error.h"
#include "codegen/kernels/attention/plan.h"
#include "codegen/kernels/gemm/shape.h"

namespace hone {

constexpr int64_t kQueriesPerItem = 128;  // laying out keys and values costs about as much as 8 queries

struct AttentionShape {
  int lanes = 0, rows = 0;                 // rows of a strip
  int key_vectors = 0, value_vectors = 0;  // columns of a panel, in vectors
  bool dot = false;                        // bf16 dot products for q·k
  PanelType keys = PanelType::f32;
  int64_t score_stride = 0;  // elements between rows of scores
  int64_t keys_offset = 0, values_offset = 0, scores_offset = 0, queries_offset = 0,
          sums_offset = 0;  // scratch, in bytes
  int64_t scratch_bytes = 0;

  int64_t key_columns() const { return int64_t{key_vectors} * lanes; }
  int64_t queries_bytes() const { return sums_offset - queries_offset; }  // a multiple of 64
  int64_t value_columns() const { return int64_t{value_vectors} * lanes; }
};

Support attention_support(const AttentionPlan& plan, const Target& target);
AttentionShape attention_shape(const AttentionPlan& plan, const Target& target, int shrink = 0);
int64_t attention_items(const AttentionPlan& plan, int64_t batches, int64_t queries);

}  // namespace hone
