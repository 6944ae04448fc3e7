// Products of few queries with keys and values as they lie in their rows.
#pragma once

#include "device/llvm/head_reader.h"
#include "device/x86/attention/shape.h"
#include "device/x86/emitter.h"

namespace hone {

// void(queries, query_row_bytes, scores, rows, count, keys: HeadReader::Rows): products of each of `rows` queries with
// `count` keys, in rows of scores, with any numbers up to a whole vector behind the last.
llvm::Function* emit_attention_row_scores(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                          const AttentionShape& shape, const HeadReader& reader);

// void(weights, sums, rows, count, is_first, values: HeadReader::Rows): `count` values times each row's weights join
// its sums, or are them where `is_first` (i1).
llvm::Function* emit_attention_row_values(X86Emitter& e, const std::string& symbol, const AttentionPlan& plan,
                                          const AttentionShape& shape, const HeadReader& reader);

}  // namespace hone
