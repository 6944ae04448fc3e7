// What attention kernels do between their products, a strip of queries at a time.
#pragma once

#include "codegen/kernels/attention/shape.h"
#include "codegen/llvm/emit.h"

namespace hone {

// void(q, q_row_bytes, rows, copied, state): a strip's queries in scratch as they are multiplied, with rows of 0 up to
// a whole strip, unless `copied` is null; and its state before the first key.
llvm::Function* emit_attention_queries(Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                       const AttentionShape& shape);

// void(scratch, state, mask, mask_row_bytes, rows, keys, from, to): the scores of a strip with a block of keys become
// weights, 2^(score - largest so far), of which row r has those in [from + r, to + r), and 0 for the rest of the vector
// behind the last; their sums join the state's, and what was summed before is to be multiplied by the alphas.
llvm::Function* emit_attention_softmax(Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                       const AttentionShape& shape);

// void(state, alphas, rows): the sums of a strip times each row's alpha.
llvm::Function* emit_attention_rescale(Emitter& e, const std::string& symbol, const AttentionShape& shape);

// void(state, sink, out, out_row_bytes, rows): sums over the sum of weights, which the sink (one f32) joins.
llvm::Function* emit_attention_output(Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                      const AttentionShape& shape);

}  // namespace hone
