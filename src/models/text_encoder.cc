#include "models/text_encoder.h"

#include <array>

#include "base/error.h"
#include "ir/row_keys.h"
#include "models/classifier.h"
#include "models/sentence_pooling.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

struct NamedHead {
  const char *ending, *name;  // of architectures; in the graph's metadata
  TextHead head;
};
constexpr std::array<NamedHead, 8> kHeads{{{"ForSequenceClassification", "classes", TextHead::classes},
                                           {"ForTokenClassification", "token_classes", TextHead::token_classes},
                                           {"ForMaskedLM", kMaskedWords, TextHead::masked_words},
                                           {"ForQuestionAnswering", "question", TextHead::question},
                                           {"ForNextSentencePrediction", "next_sentence", TextHead::next_sentence},
                                           {"ForPreTraining", "pretraining", TextHead::pretraining},
                                           {"EncoderModel", "states", TextHead::states},
                                           {"Model", "states", TextHead::states}}};

const NamedHead& named_head(const ModelRequest& request) {
  const auto architectures = json_get<std::vector<std::string>>(request.config, "architectures", request.source);
  for (const NamedHead& head : kHeads)
    if (!architectures.empty() && architectures[0].ends_with(head.ending)) return head;
  throw Bug(fmt::format("{} has no head that is known", json_excerpt(request.config.at("architectures"))));
}

}  // namespace

TextHead text_head(const ModelRequest& request) {
  const TextHead head = named_head(request).head;
  if (request.pooling.is_null()) return head;
  // What is left of pre-training is no head that a sentence encoder has a use for.
  if (head != TextHead::states && head != TextHead::masked_words && head != TextHead::pretraining)
    fail(
        "{}: a model with a head of its own, and a sentence pooling; remove modules.json, or name the encoder in "
        "\"architectures\"",
        request.source);
  return TextHead::sentence;
}

TextSizes text_sizes(const ModelConfig& config) {
  const TextSizes sizes{.vocabulary = config.size("vocab_size"),
                        .hidden = config.size("hidden_size"),
                        .layers = config.layers("num_hidden_layers"),
                        .heads = config.size("num_attention_heads"),
                        .intermediate = config.size("intermediate_size"),
                        .positions = config.size_or("max_position_embeddings", 512),
                        .token_types = config.size_unless_none("type_vocab_size", 0),
                        .epsilon = config.number_or("layer_norm_eps", 1e-12),
                        .activation = config.text_or("hidden_act", "gelu")};
  require_even_heads(config, sizes);
  return sizes;
}

void require_even_heads(const ModelConfig& config, const TextSizes& sizes) {
  if (sizes.hidden % sizes.heads != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {}", config.source(), sizes.hidden, sizes.heads);
}

TextEncoder::TextEncoder(const ModelRequest& request, const char* family, TextSizes sizes, TextHeads heads)
    : request_(request),
      config_(request),
      sizes_(std::move(sizes)),
      heads_(std::move(heads)),
      head_(text_head(request)),
      classes_(class_count(config_)),
      inputs_(request, head_ == TextHead::classes),
      builder_(graph_, request) {
  graph_.name = family;
  graph_.metadata["family"] = family;
  graph_.metadata[kTextHead] = head_ == TextHead::sentence ? "states" : named_head(request).name;
  if (sizes_.positions > 0) graph_.metadata[kPositions] = std::to_string(sizes_.positions);  // what texts are cut to
  if (sizes_.token_types > 1 && !inputs_.has("token_type_ids")) graph_.metadata[kTextTypes] = "ignored";
  inputs_.declare(graph_);
}

Graph TextEncoder::build() {
  mask_ = inputs_.has("attention_mask") ? input("attention_mask") : builder_.all_tokens();
  ValueId x = embedded();
  for (int64_t number = 0; number < sizes_.layers; ++number) x = layer(x, number);
  outputs(finished(x));
  return std::move(graph_);
}

ValueId TextEncoder::added_mask() {
  if (added_mask_ == kNone) added_mask_ = builder_.additive_mask(mask_);
  return added_mask_;
}

void TextEncoder::outputs(ValueId x) {
  switch (head_) {
    case TextHead::states:
      return state_outputs(x);
    case TextHead::sentence:
      graph_.add_output(sentence_pooling(builder_, x, mask_), "embedding");
      return;
    case TextHead::classes:
      return classifier_outputs(builder_, class_scores(x), input("labels"), classes_);
    case TextHead::token_classes:
      graph_.add_output(token_scores(x), "logits");
      return;
    case TextHead::masked_words:
      graph_.add_output(word_scores(x), "logits");
      return;
    case TextHead::question:
      return question_outputs(x);
    case TextHead::next_sentence:
      graph_.add_output(next_sentence_scores(x, "cls.seq_relationship"), "logits");
      return;
    case TextHead::pretraining:
      return pretraining_outputs(x);
  }
}

void TextEncoder::state_outputs(ValueId x) {
  graph_.add_output(x, "last_hidden_state");
  if (!heads_.pooler.empty() && builder_.has_weight(heads_.pooler + ".weight"))
    graph_.add_output(dense_first_token(x, heads_.pooler, "tanh"), "pooler_output");
}

void TextEncoder::question_outputs(ValueId x) {
  const ValueId both = span_scores(x);
  for (int64_t i : {0, 1}) {
    const ValueId one =
        ops::slice(graph_, {.x = both, .starts = Shape{i}, .ends = Shape{i + 1}, .axes = std::vector<int64_t>{2}});
    const std::string name = i == 0 ? "start_logits" : "end_logits";
    graph_.add_output(ops::squeeze(graph_, {.x = one, .axes = std::vector<int64_t>{2}}, name), name);
  }
}

void TextEncoder::pretraining_outputs(ValueId) { throw Bug(graph_.name + " has no head for pretraining"); }

ValueId TextEncoder::dense_first_token(ValueId x, const std::string& dense, const std::string& activation) {
  const int64_t hidden = sizes_.hidden;
  return builder_.activation(builder_.linear(builder_.first_token(x), dense, hidden, hidden), activation);
}

ValueId TextEncoder::class_scores(ValueId x) {
  const ValueId pooled = dense_first_token(x, heads_.class_dense, heads_.class_activation);
  return builder_.linear(pooled, heads_.class_out, sizes_.hidden, classes_, "logits");
}

ValueId TextEncoder::token_scores(ValueId x) {
  return builder_.linear(x, "classifier", sizes_.hidden, classes_, "logits");
}

ValueId TextEncoder::span_scores(ValueId x) { return builder_.linear(x, "qa_outputs", sizes_.hidden, 2); }

ValueId TextEncoder::next_sentence_scores(ValueId x, const std::string& dense) {
  return builder_.linear(dense_first_token(x, heads_.pooler, "tanh"), dense, sizes_.hidden, 2);
}

ValueId TextEncoder::word_scores(ValueId x) {
  const int64_t columns = heads_.word_columns;
  const ValueId dense = builder_.linear(x, heads_.word_dense, sizes_.hidden, columns);
  const ValueId active = builder_.activation(dense, heads_.word_activation);
  const ValueId normed = builder_.layer_norm(active, heads_.word_norm, columns, sizes_.epsilon);
  const bool tied = config_.flag("tie_word_embeddings", true);
  const std::string table = tied ? heads_.word_table : heads_.word_decoder, own_bias = heads_.word_decoder + ".bias";
  const std::string bias = !tied && builder_.has_weight(own_bias) ? own_bias : heads_.word_bias;
  return ops::linear(graph_,
                     {.x = normed,
                      .w = builder_.weight(table + ".weight", {sizes_.vocabulary, columns}),
                      .b = builder_.weight(bias, {sizes_.vocabulary})},
                     "logits");
}

ValueId TextEncoder::embedding_sum(const std::string& prefix, ValueId positions, int64_t position_rows,
                                   int64_t columns) {
  ValueId x = builder_.embedding(input("input_ids"), prefix + ".word_embeddings", sizes_.vocabulary, columns);
  const auto add = [&](ValueId rows, const char* table, int64_t count) {
    x = ops::add(graph_, {x, builder_.embedding(rows, prefix + table, count, columns)});
  };
  if (sizes_.token_types > 0)
    add(inputs_.has("token_type_ids") ? input("token_type_ids") : graph_.add_scalar(int64_t{0}),
        ".token_type_embeddings", sizes_.token_types);
  if (positions != kNone) add(positions, ".position_embeddings", position_rows);
  return builder_.layer_norm(x, prefix + ".LayerNorm", columns, sizes_.epsilon, "embedded");
}

EncoderBlock TextEncoder::block(const std::string& at, int64_t number) const {
  return {.hidden = sizes_.hidden,
          .heads = sizes_.heads,
          .intermediate = sizes_.intermediate,
          .epsilon = sizes_.epsilon,
          .activation = sizes_.activation,
          .query = at + "attention.self.query",
          .key = at + "attention.self.key",
          .value = at + "attention.self.value",
          .attention_output = at + "attention.output.dense",
          .attention_norm = at + "attention.output.LayerNorm",
          .up = at + "intermediate.dense",
          .down = at + "output.dense",
          .output_norm = at + "output.LayerNorm",
          .label = fmt::format("layer{}", number)};
}

}  // namespace hone
