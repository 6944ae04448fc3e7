// ALBERT: narrow embeddings, and a few layers that are run again and again. Their weights are one constant each in the
// graph, however often they are read. Lan et al., "ALBERT: A Lite BERT for Self-supervised Learning of Language
// Representations" (2019).
#include "base/error.h"
#include "models/text_encoder.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"embedding_size"},
                                 {"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_hidden_groups"},
                                 {"inner_group_num"},
                                 {"num_attention_heads"},
                                 {"intermediate_size"},
                                 {"max_position_embeddings"},
                                 {"type_vocab_size"},
                                 {"layer_norm_eps"},
                                 {"hidden_act"},
                                 {"position_embedding_type", "\"absolute\""},
                                 // Of an earlier code; these values are what it does without them.
                                 {"down_scale_factor", "1"},
                                 {"gap_size", "0"},
                                 {"net_structure_type", "0"},
                                 {"num_memory_blocks", "0"}};

struct AlbertSizes {
  TextSizes text;
  int64_t columns = 0, groups = 0, in_group = 0;  // of embeddings; of layers
};

AlbertSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  AlbertSizes sizes{.text = text_sizes(config),
                    .columns = config.size_or("embedding_size", 128),
                    .groups = config.has("num_hidden_groups") ? config.layers("num_hidden_groups") : 1,
                    .in_group = config.has("inner_group_num") ? config.layers("inner_group_num") : 1};
  sizes.text.token_types = config.size_or("type_vocab_size", 2);
  sizes.text.activation = config.text_or("hidden_act", "gelu_new");
  if (sizes.groups > sizes.text.layers)
    fail("{}: num_hidden_groups is {}; accepted: at most num_hidden_layers {}", request.source, sizes.groups,
         sizes.text.layers);
  if (sizes.in_group > 1000 / sizes.text.layers)
    fail("{}: {} times {} layers in a group; accepted: 1000 in all", request.source, sizes.text.layers, sizes.in_group);
  return sizes;
}

TextHeads heads_of(const AlbertSizes& sizes) {
  return {.pooler = "pooler",
          .class_dense = "pooler",
          .class_activation = "tanh",
          .class_out = "classifier",
          .word_dense = "predictions.dense",
          .word_activation = sizes.text.activation,
          .word_norm = "predictions.LayerNorm",
          .word_decoder = "predictions.decoder",
          .word_bias = "predictions.bias",
          .word_table = "embeddings.word_embeddings",
          .word_columns = sizes.columns};
}

class AlbertBuilder : public TextEncoder {
 public:
  explicit AlbertBuilder(const ModelRequest& request) : AlbertBuilder(request, sizes_of(request)) {}

 private:
  AlbertBuilder(const ModelRequest& request, const AlbertSizes& albert)
      : TextEncoder(request, "albert", albert.text, heads_of(albert)), albert_(albert) {}

  ValueId embedded() override {
    const ValueId positions = builder().positions(Dim::symbol("S"), sizes().positions);
    const ValueId x = embedding_sum("embeddings", positions, sizes().positions, albert_.columns);
    return builder().linear(x, "encoder.embedding_hidden_mapping_in", albert_.columns, sizes().hidden);
  }

  // The layers of a group follow each other; layers fall into groups of alike many.
  ValueId layer(ValueId x, int64_t number) override {
    const int64_t group = number * albert_.groups / sizes().layers;
    for (int64_t inner = 0; inner < albert_.in_group; ++inner) {
      const std::string at = fmt::format("encoder.albert_layer_groups.{}.albert_layers.{}.", group, inner);
      EncoderBlock named = block(at, number * albert_.in_group + inner);
      named.query = at + "attention.query";
      named.key = at + "attention.key";
      named.value = at + "attention.value";
      named.attention_output = at + "attention.dense";
      named.attention_norm = at + "attention.LayerNorm";
      named.up = at + "ffn";
      named.down = at + "ffn_output";
      named.output_norm = at + "full_layer_layer_norm";
      x = encoder_block(builder(), x, added_mask(), named);
    }
    return x;
  }

  void pretraining_outputs(ValueId x) override {
    graph().add_output(word_scores(x), "prediction_logits");
    const ValueId pooled = dense_first_token(x, "pooler", "tanh");
    graph().add_output(builder().linear(pooled, "sop_classifier.classifier", sizes().hidden, classes()), "sop_logits");
  }

  const AlbertSizes albert_;
};

}  // namespace

extern constinit const ModelDef albert_def{
    .name = "albert",
    .doc = "ALBERT: encoders, sentence encoders and heads; layers that are shared stay shared.",
    .architectures =
        "AlbertModel AlbertForSequenceClassification AlbertForTokenClassification AlbertForMaskedLM "
        "AlbertForQuestionAnswering AlbertForPreTraining",
    .build = [](const ModelRequest& request) { return AlbertBuilder(request).build(); }};

}  // namespace hone
