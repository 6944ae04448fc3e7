// RoBERTa and what shares its code: XLM-R and CamemBERT. BERT whose positions count the tokens that are no padding,
// from the one after the padding's own. Liu et al., "RoBERTa: A Robustly Optimized BERT Pretraining Approach" (2019).
#include "models/counted_positions.h"
#include "models/text_encoder.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},        {"hidden_size"},
                                 {"num_hidden_layers"}, {"num_attention_heads"},
                                 {"intermediate_size"}, {"max_position_embeddings"},
                                 {"type_vocab_size"},   {"layer_norm_eps"},
                                 {"hidden_act"},        {"position_embedding_type", "\"absolute\""}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  TextSizes sizes = text_sizes(config);
  sizes.token_types = config.size_or("type_vocab_size", 2);
  sizes.positions = counted_positions(config, padding_id(config, 1), sizes.positions);
  return sizes;
}

TextHeads heads_of(const TextSizes& sizes) {
  return {.pooler = "pooler.dense",
          .class_dense = "classifier.dense",
          .class_activation = "tanh",
          .class_out = "classifier.out_proj",
          .word_dense = "lm_head.dense",
          .word_activation = "gelu",
          .word_norm = "lm_head.layer_norm",
          .word_decoder = "lm_head.decoder",
          .word_bias = "lm_head.bias",
          .word_table = "embeddings.word_embeddings",
          .word_columns = sizes.hidden};
}

class RobertaBuilder : public TextEncoder {
 public:
  explicit RobertaBuilder(const ModelRequest& request) : RobertaBuilder(request, sizes_of(request)) {}

 private:
  RobertaBuilder(const ModelRequest& request, const TextSizes& sizes)
      : TextEncoder(request, "roberta", sizes, heads_of(sizes)) {}

  ValueId embedded() override {
    const int64_t padding = padding_id(config(), 1);
    const ValueId positions = count_positions(builder(), input("input_ids"), padding, sizes().positions);
    return embedding_sum("embeddings", positions, sizes().positions + padding + 1, sizes().hidden);
  }

  ValueId layer(ValueId x, int64_t number) override {
    return encoder_block(builder(), x, added_mask(), block(fmt::format("encoder.layer.{}.", number), number));
  }
};

}  // namespace

extern constinit const ModelDef roberta_def{
    .name = "roberta",
    .doc = "RoBERTa, XLM-R and CamemBERT: encoders, sentence encoders and heads.",
    .architectures =
        "RobertaModel RobertaForSequenceClassification RobertaForTokenClassification RobertaForMaskedLM "
        "RobertaForQuestionAnswering XLMRobertaModel XLMRobertaForSequenceClassification "
        "XLMRobertaForTokenClassification XLMRobertaForMaskedLM XLMRobertaForQuestionAnswering CamembertModel "
        "CamembertForSequenceClassification CamembertForTokenClassification CamembertForMaskedLM "
        "CamembertForQuestionAnswering",
    .build = [](const ModelRequest& request) { return RobertaBuilder(request).build(); }};

}  // namespace hone
