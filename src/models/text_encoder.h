// Encoders of texts, as their families share them: what the model takes, its layers one after the other, and what
// stands behind them by the end of the architecture's name. A family says how tokens are embedded, what a layer is, and
// what its heads are called.
#pragma once

#include <string>

#include "models/config.h"
#include "models/token_inputs.h"
#include "models/transformer.h"

namespace hone {

// Outputs: of `states` last_hidden_state f32[B,S,hidden] and perhaps pooler_output f32[B,hidden]; of `sentence`, states
// with a pooling, embedding f32[B,hidden]; of `classes` logits f32[B,classes], and loss where labels are given; of
// `token_classes` logits f32[B,S,classes]; of `masked_words` logits f32[B,S,vocabulary]; of `question` start_logits and
// end_logits f32[B,S]; of `next_sentence` logits f32[B,2]; of `pretraining` the family's own.
enum class TextHead : uint8_t {
  states,
  sentence,
  classes,
  token_classes,
  masked_words,
  question,
  next_sentence,
  pretraining
};

// By the end of the first of "architectures". Throws Error for a pooling behind anything but `states`.
TextHead text_head(const ModelRequest& request);

struct TextSizes {
  int64_t vocabulary = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0;
  int64_t positions = 0;    // tokens that a text may have; 0: any number
  int64_t token_types = 0;  // 0: none
  double epsilon = 0;
  std::string activation;
};

// Of the keys that BERT and most others have: vocab_size, hidden_size, num_hidden_layers, num_attention_heads,
// intermediate_size, max_position_embeddings, type_vocab_size, layer_norm_eps and hidden_act. Throws Error where heads
// do not part the hidden size evenly.
TextSizes text_sizes(const ModelConfig& config);
void require_even_heads(const ModelConfig& config, const TextSizes& sizes);

// Names of the weights in heads, and activations there.
struct TextHeads {
  std::string pooler;                                    // dense layer and tanh over the first token; "": none
  std::string class_dense, class_activation, class_out;  // over the first token
  // Scores of words: dense layer to word_columns, activation, norm, then the table of words again, or the head's own
  // where tie_word_embeddings is false.
  std::string word_dense, word_activation, word_norm, word_decoder, word_bias;
  std::string word_table;
  int64_t word_columns = 0;
};

class TextEncoder {
 public:
  TextEncoder(const ModelRequest& request, const char* family, TextSizes sizes, TextHeads heads);
  virtual ~TextEncoder() = default;
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;

  Graph build();

 protected:
  virtual ValueId embedded() = 0;                        // f32[B,S,hidden]
  virtual ValueId layer(ValueId x, int64_t number) = 0;  // the same again
  virtual ValueId finished(ValueId x) { return x; }      // behind the last layer
  virtual ValueId class_scores(ValueId x);               // f32[B,classes]
  virtual ValueId token_scores(ValueId x);               // f32[B,S,classes]
  virtual ValueId word_scores(ValueId x);                // f32[B,S,vocabulary]
  virtual ValueId span_scores(ValueId x);                // f32[B,S,2]
  virtual void pretraining_outputs(ValueId x);           // Bug unless the family has such an architecture

  ValueId input(const char* label) const { return input_of(graph_, label); }
  ValueId mask() const { return mask_; }  // i64[B,S]
  ValueId added_mask();                   // f32[B,1,1,S], to add to scores
  const TextSizes& sizes() const { return sizes_; }
  const TextHeads& heads() const { return heads_; }
  const ModelConfig& config() const { return config_; }
  int64_t classes() const { return classes_; }
  Graph& graph() { return graph_; }
  TransformerBuilder& builder() { return builder_; }

  // Words, types and positions from tables called PREFIX.word_embeddings, …, of `columns` columns, summed and normed,
  // as in BERT; without token_type_ids every token is of type 0. `positions`: rows of the table, i64[S] or i64[B,S];
  // kNone: the model has no such table.
  ValueId embedding_sum(const std::string& prefix, ValueId positions, int64_t position_rows, int64_t columns);
  ValueId dense_first_token(ValueId x, const std::string& dense, const std::string& activation);
  ValueId next_sentence_scores(ValueId x, const std::string& dense);
  // The names that BERT gives the weights of a layer.
  EncoderBlock block(const std::string& at, int64_t number) const;

 private:
  void outputs(ValueId x);
  void state_outputs(ValueId x);
  void sentence_output(ValueId x);
  void question_outputs(ValueId x);

  const ModelRequest& request_;
  const ModelConfig config_;
  const TextSizes sizes_;
  const TextHeads heads_;
  const TextHead head_;
  const int64_t classes_;
  const TokenInputs inputs_;
  Graph graph_;
  TransformerBuilder builder_;
  ValueId mask_ = kNone, added_mask_ = kNone;
};

}  // namespace hone
