// Texts as the inputs of a model that came with its tokenizer.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "jobs/load_model.h"
#include "runtime/session.h"
#include "tokenizers/tokenizer.h"

namespace hone {

// The tokenizer that came with the model; throws Error when there is none.
Tokenizer tokenizer_of(const Model& model);

// Tokens that the model takes: what it states, and no more than its table of positions; 0 when neither is known.
int64_t most_tokens(const Model& model);
// Tokens that a text is cut to: those that it was cut to in training, else those that the model takes.
int64_t max_tokens(const Model& model);
// Cuts texts to another length for as long as the model is open. Throws Error for more than it takes.
void cut_texts(Model& model, int64_t length);
// "texts are cut to 64 tokens, as in training (…)"; empty where all that the model takes is read.
std::string cut_text(const Model& model);

// What stands before every text that the model reads, where its folder says so.
std::string prompt_of(const Model& model);
// One of the prompts that the model's folder names. Throws Error with those that there are.
void choose_prompt(Model& model, const std::string& name);
// The data's texts behind the model's prompt.
Dataset with_prompt(Dataset dataset, const Model& model);
// Warns where texts of pairs are told apart by types that the graph was not opened with.
void note_lacking_types(const Model& model, const Dataset& dataset);

// Those of input_ids, attention_mask and token_type_ids (zeros) that the model takes: i64[texts, longest text in
// tokens].
NamedTensors text_inputs(const Model& model, const Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace hone
