// ELECTRA: BERT whose embeddings may be narrower than its layers, and which learned to tell replaced words. Clark et
// al., "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators" (2020).
#include "models/text_encoder.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"embedding_size"},
                                 {"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"intermediate_size"},
                                 {"max_position_embeddings"},
                                 {"type_vocab_size"},
                                 {"layer_norm_eps"},
                                 {"hidden_act"},
                                 {"position_embedding_type", "\"absolute\""},
                                 // Of a head for multiple choice.
                                 {"summary_type"},
                                 {"summary_use_proj"},
                                 {"summary_activation"},
                                 {"summary_last_dropout"}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  TextSizes sizes = text_sizes(config);
  sizes.token_types = config.size_or("type_vocab_size", 2);
  return sizes;
}

int64_t embedding_columns(const ModelRequest& request) { return ModelConfig(request).size_or("embedding_size", 128); }

TextHeads heads_of(const ModelRequest& request) {
  return {.class_dense = "classifier.dense",
          .class_activation = "gelu",
          .class_out = "classifier.out_proj",
          .word_dense = "generator_predictions.dense",
          .word_activation = "gelu",
          .word_norm = "generator_predictions.LayerNorm",
          .word_decoder = "generator_lm_head",
          .word_bias = "generator_lm_head.bias",
          .word_table = "embeddings.word_embeddings",
          .word_columns = embedding_columns(request)};
}

class ElectraBuilder : public TextEncoder {
 public:
  explicit ElectraBuilder(const ModelRequest& request)
      : TextEncoder(request, "electra", sizes_of(request), heads_of(request)), columns_(embedding_columns(request)) {}

 private:
  ValueId embedded() override {
    const ValueId positions = builder().positions(Dim::symbol("S"), sizes().positions);
    const ValueId x = embedding_sum("embeddings", positions, sizes().positions, columns_);
    return columns_ == sizes().hidden ? x : builder().linear(x, "embeddings_project", columns_, sizes().hidden);
  }

  ValueId layer(ValueId x, int64_t number) override {
    return encoder_block(builder(), x, added_mask(), block(fmt::format("encoder.layer.{}.", number), number));
  }

  // f32[B,S]: whether each word was replaced.
  void pretraining_outputs(ValueId x) override {
    const int64_t hidden = sizes().hidden;
    const ValueId dense = builder().linear(x, "discriminator_predictions.dense", hidden, hidden);
    const ValueId score = builder().linear(builder().activation(dense, sizes().activation),
                                           "discriminator_predictions.dense_prediction", hidden, 1);
    graph().add_output(ops::squeeze(graph(), {.x = score, .axes = std::vector<int64_t>{2}}), "logits");
  }

  const int64_t columns_;
};

}  // namespace

extern constinit const ModelDef electra_def{
    .name = "electra",
    .doc = "ELECTRA: discriminators, generators, sentence encoders and heads.",
    .architectures =
        "ElectraModel ElectraForSequenceClassification ElectraForTokenClassification ElectraForMaskedLM "
        "ElectraForQuestionAnswering ElectraForPreTraining",
    .build = [](const ModelRequest& request) { return ElectraBuilder(request).build(); }};

}  // namespace hone
