// How an attention kernel works: what planner and generator agree on.
//
// An item is some heads that share keys, and a block of their queries. It takes the keys a block at a time: lays them
// and their values out as panels in scratch, once for all of its queries, and goes over the queries in strips. Scores
// of a strip (rows x keys of the block) stay in the first-level cache through softmax and the product with the values.
// A strip's sums, with the largest score and the weights' sum of each row so far, wait in scratch for the next block,
// whose larger scores scale them down (Dao, "FlashAttention-2" (2023), algorithm 1). A row's bits depend on the blocks
// of keys, which are the plan's, and on whether those are read in rows; how queries fall into items decides none.
//
// Codes of keys and values are decoded in registers where rows are read, and some rows at a time into scratch where
// they are laid out; what follows has the bits that decoded operands give. Rows in pages are found by their table
// likewise.
//
// Few queries read keys and values in their rows, since laying them out would cost more than the products. The heads
// that share keys then fill strips together: row r of them is query r % S of head r / S. Long keys of few queries fall
// into ranges, which are items of their own: each leaves its strips' states in shared memory, and they are joined in
// the order of the ranges, which follow from lengths and heads alone.
//
// Scores are counted in units of ln 2, so that weights are powers of 2: products become scores by scale / ln 2.
#pragma once

#include "base/error.h"
#include "base/multiples.h"
#include "device/x86/attention/plan.h"
#include "device/x86/gemm/shape.h"

namespace hone {

class X86Emitter;

// Rows of codes or pages that come one behind the other, decoded to f32, before they are laid out; a multiple of the
// columns of any panel of keys.
inline constexpr int64_t kStagedRows = 32;

struct AttentionShape {
  int lanes = 0, rows = 0;                 // rows of a strip
  int key_vectors = 0, value_vectors = 0;  // columns of a panel, in vectors
  // f32; of bf16 dot products of q·k, and of weights rounded to bf16 with v; or by tile registers, where weights and
  // values of keys that are missing are 0.
  ProductUnit unit = ProductUnit::f32;
  int64_t block_keys = 0, item_strips = 0;  // of a block of keys; strips of an item at most
  int64_t value_width = 0;                  // value_dim, up to whole panels
  int64_t score_stride = 0;                 // elements between rows of scores
  int64_t weight_stride_bytes = 0;          // of weights: scores, or bf16 of their own
  // Scratch, in bytes.
  int64_t keys_offset = 0, values_offset = 0, scores_offset = 0, weights_offset = 0, maxima_offset = 0,
          alphas_offset = 0, queries_offset = 0, states_offset = 0, staged_offset = 0, scratch_bytes = 0;
  int64_t query_row_bytes = 0;  // of queries in scratch

  bool tiles() const { return unit == ProductUnit::bf16_tiles; }
  bool pairs() const { return unit != ProductUnit::f32; }
  PanelType panel() const { return pairs() ? PanelType::pairs : PanelType::f32; }
  int64_t key_columns() const { return int64_t{key_vectors} * lanes; }
  int64_t value_columns() const { return int64_t{value_vectors} * lanes; }
  int64_t vector_bytes() const { return int64_t{lanes} * 4; }
  int64_t strip_queries_bytes() const { return round_up(rows * query_row_bytes, 64); }
  // What is kept of a strip: sums (value_width of each row, panel by panel), a vector of each row's sum of weights, and
  // one of the rows' largest scores.
  int64_t totals_offset() const { return rows * value_width * 4; }
  int64_t largest_offset() const { return totals_offset() + rows * vector_bytes(); }
  int64_t state_bytes() const { return largest_offset() + vector_bytes(); }
};

Support attention_support(const AttentionPlan& plan, const X86Target& target);
int attention_panel_vectors(int64_t columns, int lanes);  // of a panel, where there are so many columns
AttentionShape attention_shape(const AttentionPlan& plan, const X86Target& target, int shrink = 0);

// How the heads that share keys, and their queries, fall into items.
struct AttentionItems {
  int64_t heads = 1, queries = 1;  // of an item
  int64_t per_head = kSeesAll;     // rows of a strip before those of the next head; kSeesAll: strips are of one head
  int64_t ranges = 1;              // of keys
  int64_t range_keys = kSeesAll;   // of each
  int64_t count = 0;               // without ranges
  int64_t strips(const AttentionShape& shape) const;  // of an item
};
AttentionItems attention_items(const X86AttentionPlan& plan, const AttentionShape& shape, int64_t batches,
                               int64_t queries, int64_t keys);

// The most queries whose keys are split, and of how many at least.
inline constexpr int64_t kSplitQueries = 16;
int64_t attention_range_keys(const AttentionPlan& plan, const AttentionShape& shape, int64_t queries);
// What the ranges of all items leave for those who join them, of a plan that splits.
int64_t attention_shared_bytes(const X86AttentionPlan& plan, const AttentionShape& shape, const AttentionArgs& args);

// The most rows (queries of heads that share keys) that read keys and values in their rows; for more, these are laid
// out as panels. It decides bits, and so takes no notice of batches.
int64_t attention_rows_in_rows(const AttentionPlan& plan, int64_t keys);

void emit_attention(X86Emitter& e, const X86AttentionPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
