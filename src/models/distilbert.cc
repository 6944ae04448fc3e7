// DistilBERT: BERT without token types and pooler, under names of its own. Sanh et al., "DistilBERT, a distilled
// version of BERT: smaller, faster, cheaper and lighter" (2019).
#include "base/error.h"
#include "models/text_encoder.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},   {"dim"},
                                 {"n_layers"},     {"n_heads"},
                                 {"hidden_dim"},   {"max_position_embeddings"},
                                 {"activation"},   {"sinusoidal_pos_embds"},  // how the stored table began
                                 {"tie_weights_"}, {"seq_classif_dropout"},
                                 {"qa_dropout"}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  const TextSizes sizes{.vocabulary = config.size("vocab_size"),
                        .hidden = config.size("dim"),
                        .layers = config.layers("n_layers"),
                        .heads = config.size("n_heads"),
                        .intermediate = config.size("hidden_dim"),
                        .positions = config.size_or("max_position_embeddings", 512),
                        .epsilon = 1e-12,
                        .activation = config.text_or("activation", "gelu")};
  if (sizes.hidden % sizes.heads != 0)
    fail("{}: dim {} is not a multiple of n_heads {}", request.source, sizes.hidden, sizes.heads);
  return sizes;
}

TextHeads heads_of(const TextSizes& sizes) {
  return {.class_dense = "pre_classifier",
          .class_activation = "relu",
          .class_out = "classifier",
          .word_dense = "vocab_transform",
          .word_activation = sizes.activation,
          .word_norm = "vocab_layer_norm",
          .word_decoder = "vocab_projector",
          .word_bias = "vocab_projector.bias",
          .word_table = "embeddings.word_embeddings",
          .word_columns = sizes.hidden};
}

class DistilBertBuilder : public TextEncoder {
 public:
  explicit DistilBertBuilder(const ModelRequest& request) : DistilBertBuilder(request, sizes_of(request)) {}

 private:
  DistilBertBuilder(const ModelRequest& request, const TextSizes& sizes)
      : TextEncoder(request, "distilbert", sizes, heads_of(sizes)) {}

  ValueId embedded() override {
    const ValueId positions = builder().positions(Dim::symbol("S"), sizes().positions);
    return embedding_sum("embeddings", positions, sizes().positions, sizes().hidden);
  }

  ValueId layer(ValueId x, int64_t number) override {
    const std::string at = fmt::format("transformer.layer.{}.", number);
    EncoderBlock named = block(at, number);
    named.query = at + "attention.q_lin";
    named.key = at + "attention.k_lin";
    named.value = at + "attention.v_lin";
    named.attention_output = at + "attention.out_lin";
    named.attention_norm = at + "sa_layer_norm";
    named.up = at + "ffn.lin1";
    named.down = at + "ffn.lin2";
    named.output_norm = at + "output_layer_norm";
    return encoder_block(builder(), x, added_mask(), named);
  }
};

}  // namespace

extern constinit const ModelDef distilbert_def{
    .name = "distilbert",
    .doc = "DistilBERT: encoders, sentence encoders and heads.",
    .architectures =
        "DistilBertModel DistilBertForSequenceClassification DistilBertForTokenClassification "
        "DistilBertForMaskedLM DistilBertForQuestionAnswering",
    .build = [](const ModelRequest& request) { return DistilBertBuilder(request).build(); }};

}  // namespace hone
