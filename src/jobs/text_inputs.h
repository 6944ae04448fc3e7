// Texts as the inputs of a model that came with its tokenizer.
#pragma once

#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

// The tokenizer that came with the model; throws Error when there is none.
Tokenizer tokenizer_of(const LoadedModel& model);

// Tokens that a text is cut to: what the model states, and no more than its table of positions; 0 when neither is
// known.
int64_t max_tokens(const LoadedModel& model);

// Those of input_ids, attention_mask and token_type_ids (zeros) that the model takes: i64[texts, longest text in
// tokens].
NamedTensors text_inputs(const LoadedModel& model, const Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace hone
