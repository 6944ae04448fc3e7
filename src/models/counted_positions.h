// Positions as fairseq's models count them: padding has the position of its own id, and the other tokens follow from
// the next one on, wherever padding lies.
#pragma once

#include "models/config.h"
#include "models/transformer.h"

namespace hone {

int64_t padding_id(const ModelConfig& config, int64_t fallback);  // pad_token_id, from 0

// Tokens that a text may have when the table has so many rows. Throws Error where the padding takes them all.
int64_t counted_positions(const ModelConfig& config, int64_t padding, int64_t rows);

// ids i64[B,S] → i64[B,S]. Binding a longer length than `limit` is an Error that names both.
ValueId count_positions(TransformerBuilder& builder, ValueId ids, int64_t padding, int64_t limit);

}  // namespace hone
