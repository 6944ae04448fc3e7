// How a kernel of attention's gradients works: what planner and generator agree on.
//
// An item is the heads that share keys. Keys lie in scratch as panels for q·kᵀ and for D·k, values for d·vᵀ. Queries
// come in blocks: q and d of a block lie as panels, too, and strips of its rows fill the block's P and D in scratch,
// with softmax and the product D·k while a strip's rows are in the first-level cache. Then Pᵀ·d and Dᵀ·q of the block
// are added to dv and dk, which stay in scratch until the last head and block.
#pragma once

#include "device/x86/attention/shape.h"
#include "device/x86/attention_gradient/plan.h"

namespace hone {

class X86Emitter;

struct AttentionTiles {
  int lanes = 0, rows = 0;                 // rows of a strip
  int key_vectors = 0, value_vectors = 0;  // columns of a panel, in vectors
  int64_t score_stride = 0;                // elements between rows of scores
  int64_t key_columns() const { return int64_t{key_vectors} * lanes; }
  int64_t value_columns() const { return int64_t{value_vectors} * lanes; }
};

struct AttentionGradientShape {
  AttentionTiles tiles;       // of a strip
  int64_t block_queries = 0;  // a multiple of the rows of a strip
  int64_t padded_keys = 0;    // rows of dk and dv in scratch: whole strips
  // Scratch, in bytes. `score_keys` and `values` are panels by keys, the others by columns of a head.
  int64_t score_keys = 0, values = 0, keys = 0, queries = 0, d = 0, weights = 0, d_scores = 0, d_keys = 0, d_values = 0,
          strip = 0;  // rows of q or d that are too few for a tile
  int64_t scratch_bytes = 0;

  int64_t head_columns(int64_t head_dim) const { return round_up(head_dim, tiles.value_columns()); }
};

Support attention_gradient_support(const X86AttentionGradientPlan& plan, const X86Target& target);
AttentionGradientShape attention_gradient_shape(const X86AttentionGradientPlan& plan, const X86Target& target,
                                                int shrink = 0);

void emit_attention_gradient(X86Emitter& e, const X86AttentionGradientPlan& plan, const std::string& symbol,
                             int shrink);

}  // namespace hone
