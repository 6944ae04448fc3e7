// What all families of decoders have around their layers: inputs, positions, metadata and the output
// (models/decoder.h).
#pragma once

#include <optional>
#include <string>

#include "models/config.h"
#include "models/transformer.h"

namespace hone {

struct DecoderInputs {
  ValueId ids = kNone;        // i64[B,S]
  ValueId positions = kNone;  // i64[B,S], or i64[S] without a mask: tokens of a row counted from 0
  ValueId mask = kNone;       // f32[B,1,1,S], to add to scores; kNone: every token counts
};

// Declares them, and writes the metadata: the family, the context, the vocabulary and the ids that begin and end texts.
// Throws Error for inputs that a decoder does not take, and ids that are not below the vocabulary.
DecoderInputs decoder_inputs(TransformerBuilder& builder, const ModelConfig& config, const std::string& family,
                             int64_t context, int64_t vocabulary);

// Writes the metadata that say which ids begin and end texts: bos_token_id and eos_token_id of `settings`, which
// `source` names. A key that is absent or null changes nothing. Throws Error for ids that are not below the graph's
// vocabulary.
void set_text_ends(Graph& graph, const Json& settings, const std::string& source);

bool has_word_scores(const ModelRequest& request);  // the architecture gives logits of words

// What x f32[B,S,hidden] becomes by the end of the architecture's name. Model: last_hidden_state, x itself.
// ForSequenceClassification: logits f32[B,classes] of each row's last token, and loss where labels are given. Others:
// logits f32[B,S,vocabulary] by the table of words, or by a head of its own; with a `cap` none goes beyond it (capped,
// models/decoder_layers.h).
void decoder_output(TransformerBuilder& builder, ValueId x, const std::string& table, int64_t vocabulary,
                    int64_t hidden, std::optional<double> cap = std::nullopt);

}  // namespace hone
