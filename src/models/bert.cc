// The BERT family: encoder, sentence encoder and all heads, with configuration and weights as Hugging Face names them.
// Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding" (2018).
#include "models/text_encoder.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"intermediate_size"},
                                 {"max_position_embeddings"},
                                 {"type_vocab_size"},
                                 {"layer_norm_eps"},
                                 {"hidden_act"},
                                 {"position_embedding_type", "\"absolute\""},
                                 // What no version reads.
                                 {"directionality"},
                                 {"pooler_fc_size"},
                                 {"pooler_num_attention_heads"},
                                 {"pooler_num_fc_layers"},
                                 {"pooler_size_per_head"},
                                 {"pooler_type"}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  TextSizes sizes = text_sizes(config);
  sizes.token_types = config.size_or("type_vocab_size", 2);
  return sizes;
}

TextHeads heads_of(const TextSizes& sizes) {
  return {.pooler = "pooler.dense",
          .class_dense = "pooler.dense",
          .class_activation = "tanh",
          .class_out = "classifier",
          .word_dense = "cls.predictions.transform.dense",
          .word_activation = sizes.activation,
          .word_norm = "cls.predictions.transform.LayerNorm",
          .word_decoder = "cls.predictions.decoder",
          .word_bias = "cls.predictions.bias",
          .word_table = "embeddings.word_embeddings",
          .word_columns = sizes.hidden};
}

class BertBuilder : public TextEncoder {
 public:
  explicit BertBuilder(const ModelRequest& request) : BertBuilder(request, sizes_of(request)) {}

 private:
  BertBuilder(const ModelRequest& request, const TextSizes& sizes)
      : TextEncoder(request, "bert", sizes, heads_of(sizes)) {}

  ValueId embedded() override {
    const ValueId positions = builder().positions(Dim::symbol("S"), sizes().positions);
    return embedding_sum("embeddings", positions, sizes().positions, sizes().hidden);
  }

  ValueId layer(ValueId x, int64_t number) override {
    return encoder_block(builder(), x, added_mask(), block(fmt::format("encoder.layer.{}.", number), number));
  }

  void pretraining_outputs(ValueId x) override {
    graph().add_output(word_scores(x), "prediction_logits");
    graph().add_output(next_sentence_scores(x, "cls.seq_relationship"), "seq_relationship_logits");
  }
};

}  // namespace

extern constinit const ModelDef bert_def{
    .name = "bert",
    .doc = "BERT: encoders, sentence encoders (MiniLM, BGE, E5, GTE), and all heads; absolute positions.",
    .architectures =
        "BertModel BertForSequenceClassification BertForTokenClassification BertForMaskedLM "
        "BertForQuestionAnswering BertForNextSentencePrediction BertForPreTraining",
    .build = [](const ModelRequest& request) { return BertBuilder(request).build(); }};

}  // namespace hone
