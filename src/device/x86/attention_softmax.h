// What attention kernels do between their products, a strip of queries at a time.
#pragma once

#include "device/x86/attention/shape.h"
#include "device/x86/emitter.h"

namespace hone {

// Where what belongs to the rows of a strip lies: row r is query x % per_head of head x / per_head, x = first + r.
struct StripRows {
  llvm::Value *first, *per_head;
  llvm::Value* head(X86Emitter& e, llvm::Value* r) const { return e.b.CreateUDiv(e.b.CreateAdd(first, r), per_head); }
  llvm::Value* query(X86Emitter& e, llvm::Value* r) const { return e.b.CreateURem(e.b.CreateAdd(first, r), per_head); }
  // From the first query of the first head, with so many bytes between heads and between queries.
  llvm::Value* at(X86Emitter& e, llvm::Value* start, llvm::Value* head_bytes, llvm::Value* query_bytes,
                  llvm::Value* r) const {
    return e.at(start, e.b.CreateAdd(e.b.CreateMul(head(e, r), head_bytes), e.b.CreateMul(query(e, r), query_bytes)));
  }
};

// void(q, q_head_bytes, q_row_bytes, first, per_head, rows, copied, state): a strip's queries in scratch as they are
// multiplied, with rows of 0 up to a whole strip, unless `copied` is null; and its state before the first key.
llvm::Function* emit_attention_queries(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                       const AttentionShape& shape);

// void(scratch, state, mask, mask_head_bytes, mask_row_bytes, first, per_head, rows, keys, from, to): the scores of a
// strip with a block of keys become weights, 2^(score - largest so far), of which query q has those in [from + q, to +
// q), and 0 for the rest of the vector behind the last; their sums join the state's, and what was summed before is to
// be multiplied by the alphas.
llvm::Function* emit_attention_softmax(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                       const AttentionShape& shape);

// void(state, alphas, rows): the sums of a strip times each row's alpha.
llvm::Function* emit_attention_rescale(X86Emitter& e, const std::string& symbol, const AttentionShape& shape);

// void(scratch, states, state_bytes, count, rows): the first of `count` states, so many bytes apart, becomes what one
// strip would have of the keys of all.
llvm::Function* emit_attention_join(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                    const AttentionShape& shape);

// void(state, sinks, out, out_head_bytes, out_row_bytes, first, per_head, rows): sums over the sum of weights, which
// the sink of the head (one f32) joins.
llvm::Function* emit_attention_output(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                      const AttentionShape& shape);

}  // namespace hone
