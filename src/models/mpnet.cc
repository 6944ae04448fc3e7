// MPNet: positions counted as RoBERTa does, and distances between tokens that add to the scores of every layer. Song et
// al., "MPNet: Masked and Permuted Pre-training for Language Understanding" (2020).
#include "models/counted_positions.h"
#include "models/distance_bias.h"
#include "models/text_encoder.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

constexpr int64_t kPadding = 1, kFarthest = 128;  // which its code has as numbers

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"intermediate_size"},
                                 {"max_position_embeddings"},
                                 {"relative_attention_num_buckets", "32"},
                                 {"layer_norm_eps"},
                                 {"hidden_act"}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  TextSizes sizes = text_sizes(config);
  sizes.positions = counted_positions(config, kPadding, sizes.positions);
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

class MpnetBuilder : public TextEncoder {
 public:
  explicit MpnetBuilder(const ModelRequest& request) : MpnetBuilder(request, sizes_of(request)) {}

 private:
  MpnetBuilder(const ModelRequest& request, const TextSizes& sizes)
      : TextEncoder(request, "mpnet", sizes, heads_of(sizes)) {}

  ValueId embedded() override {
    const ValueId ids = input("input_ids");
    const int64_t buckets = config().size_or("relative_attention_num_buckets", 32);
    require_buckets(config().source(), buckets, kFarthest);
    const ValueId bias =
        distance_bias(builder(), ids, "encoder.relative_attention_bias", buckets, kFarthest, sizes().heads);
    scores_ = ops::add(graph(), {bias, added_mask()}, "distances_and_mask");
    const ValueId positions = count_positions(builder(), ids, kPadding, sizes().positions);
    return embedding_sum("embeddings", positions, sizes().positions + kPadding + 1, sizes().hidden);
  }

  ValueId layer(ValueId x, int64_t number) override {
    const std::string at = fmt::format("encoder.layer.{}.", number);
    EncoderBlock named = block(at, number);
    named.query = at + "attention.attn.q";
    named.key = at + "attention.attn.k";
    named.value = at + "attention.attn.v";
    named.attention_output = at + "attention.attn.o";
    named.attention_norm = at + "attention.LayerNorm";
    return encoder_block(builder(), x, scores_, named);
  }

  ValueId scores_ = kNone;  // f32[B,heads,S,S], to add to scores
};

}  // namespace

extern constinit const ModelDef mpnet_def{
    .name = "mpnet",
    .doc = "MPNet: encoders, sentence encoders (all-mpnet-base) and heads.",
    .architectures =
        "MPNetModel MPNetForSequenceClassification MPNetForTokenClassification MPNetForMaskedLM "
        "MPNetForQuestionAnswering",
    .build = [](const ModelRequest& request) { return MpnetBuilder(request).build(); }};

}  // namespace hone
