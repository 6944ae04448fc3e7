// The BERT family: encoder, sentence encoder and sequence classifier, with configuration and weights as Hugging Face
// names them. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding" (2018).
#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "models/classifier.h"
#include "models/token_inputs.h"
#include "models/transformer.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

enum class Kind { encoder, sentence_encoder, classifier };

struct BertConfig {
  int64_t vocabulary, hidden, layers, heads, intermediate, positions, token_types, classes;
  double epsilon;
  std::string activation;
  Kind kind;
};

Kind kind_of(const ModelRequest& request) {
  const auto architectures = json_get<std::vector<std::string>>(request.config, "architectures", request.source);
  const bool classifies = !architectures.empty() && architectures[0] == "BertForSequenceClassification";
  if (classifies && !request.pooling.is_null())
    fail("{}: a classifier with a sentence pooling; remove 1_Pooling or use BertModel", request.source);
  return classifies ? Kind::classifier : request.pooling.is_null() ? Kind::encoder : Kind::sentence_encoder;
}

BertConfig read_config(const ModelRequest& request) {
  const ModelConfig config(request);
  const std::string positions = config.text_or("position_embedding_type", "absolute");
  if (positions != "absolute")
    fail("{}: position_embedding_type \"{}\" is not supported; accepted: absolute", request.source, positions);
  if (config.flag("is_decoder") || config.flag("add_cross_attention"))
    fail("{}: decoders (is_decoder, add_cross_attention) are not supported; accepted: encoders", request.source);
  const BertConfig bert{.vocabulary = config.size("vocab_size"),
                        .hidden = config.size("hidden_size"),
                        .layers = config.layers("num_hidden_layers"),
                        .heads = config.size("num_attention_heads"),
                        .intermediate = config.size("intermediate_size"),
                        .positions = config.size_or("max_position_embeddings", 512),
                        .token_types = config.size_or("type_vocab_size", 2),
                        .classes = class_count(config),
                        .epsilon = config.number_or("layer_norm_eps", 1e-12),
                        .activation = config.text_or("hidden_act", "gelu"),
                        .kind = kind_of(request)};
  if (bert.hidden % bert.heads != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {}", request.source, bert.hidden, bert.heads);
  return bert;
}

class BertBuilder {
 public:
  explicit BertBuilder(const ModelRequest& request)
      : request_(request),
        config_(read_config(request)),
        inputs_(request, config_.kind == Kind::classifier),
        builder_(graph_, request) {
    graph_.name = "bert";
    graph_.metadata["family"] = "bert";
    graph_.metadata["max_positions"] = std::to_string(config_.positions);  // what texts are cut to
    inputs_.declare(graph_);
  }

  Graph build() {
    const ValueId mask = inputs_.has("attention_mask") ? input("attention_mask") : builder_.all_tokens();
    ValueId x = embeddings();
    const ValueId added = builder_.additive_mask(mask);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = encoder_block(builder_, x, added, block(layer));
    switch (config_.kind) {
      case Kind::encoder:
        encoder_outputs(x);
        break;
      case Kind::sentence_encoder:
        sentence_outputs(x, mask);
        break;
      case Kind::classifier:
        classifier_outputs(builder_, pooler(x), input("labels"), config_.hidden, config_.classes);
        break;
    }
    return std::move(graph_);
  }

 private:
  ValueId input(const char* label) const { return input_of(graph_, label); }

  // Without token types every token is of type 0.
  ValueId embeddings() {
    const int64_t hidden = config_.hidden;
    const ValueId words =
        builder_.embedding(input("input_ids"), "embeddings.word_embeddings", config_.vocabulary, hidden);
    const ValueId types = inputs_.has("token_type_ids") ? input("token_type_ids") : graph_.add_scalar(int64_t{0});
    const ValueId type = builder_.embedding(types, "embeddings.token_type_embeddings", config_.token_types, hidden);
    const ValueId positions = builder_.positions(Dim::symbol("S"), config_.positions);
    const ValueId position = builder_.embedding(positions, "embeddings.position_embeddings", config_.positions, hidden);
    const ValueId typed_words = ops::add(graph_, {words, type});
    return builder_.layer_norm(ops::add(graph_, {typed_words, position}), "embeddings.LayerNorm", hidden,
                               config_.epsilon, "embedded");
  }

  EncoderBlock block(int64_t layer) const {
    const std::string at = fmt::format("encoder.layer.{}.", layer);
    return {.hidden = config_.hidden,
            .heads = config_.heads,
            .intermediate = config_.intermediate,
            .epsilon = config_.epsilon,
            .activation = config_.activation,
            .query = at + "attention.self.query",
            .key = at + "attention.self.key",
            .value = at + "attention.self.value",
            .attention_output = at + "attention.output.dense",
            .attention_norm = at + "attention.output.LayerNorm",
            .up = at + "intermediate.dense",
            .down = at + "output.dense",
            .output_norm = at + "output.LayerNorm",
            .label = fmt::format("layer{}", layer)};
  }

  ValueId pooler(ValueId x) {
    const ValueId dense = builder_.linear(builder_.first_token(x), "pooler.dense", config_.hidden, config_.hidden);
    return ops::tanh(graph_, {dense}, "pooled");
  }

  void encoder_outputs(ValueId x) {
    graph_.add_output(x, "last_hidden_state");
    if (builder_.has_weight("pooler.dense.weight")) graph_.add_output(pooler(x), "pooler_output");
  }

  // The one pooling of 1_Pooling/config.json that is switched on.
  std::string pooling_mode() const {
    static constexpr std::array<const char*, 3> known{"cls_token", "mean_tokens", "max_tokens"};
    const std::string prefix = "pooling_mode_";
    std::vector<std::string> on;
    for (const auto& [key, value] : request_.pooling.items())
      if (key.starts_with(prefix) && value == true) on.push_back(key.substr(prefix.size()));
    if (on.size() != 1)
      fail("{}: the pooling switches {} modes on; accepted: exactly one of cls_token, mean_tokens, max_tokens",
           request_.source, on.size());
    if (std::find(known.begin(), known.end(), on[0]) == known.end())
      fail("{}: pooling mode \"{}\" is not supported; accepted: cls_token, mean_tokens, max_tokens", request_.source,
           on[0]);
    return on[0];
  }

  ValueId largest_tokens(ValueId x, ValueId mask) {
    const ValueId kept = ops::not_equal(graph_, {mask, graph_.add_scalar(int64_t{0})});
    const ValueId column = ops::unsqueeze(graph_, {.x = kept, .axes = std::vector<int64_t>{2}});
    const ValueId lowest = graph_.add_scalar(std::numeric_limits<float>::lowest());
    const ValueId masked = ops::where(graph_, {.condition = column, .a = x, .b = lowest});
    return ops::reduce_max(graph_, {.x = masked, .axes = std::vector<int64_t>{1}, .keepdims = 0});
  }

  void sentence_outputs(ValueId x, ValueId mask) {
    const std::string mode = pooling_mode();
    ValueId pooled = mode == "cls_token"    ? builder_.first_token(x)
                     : mode == "max_tokens" ? largest_tokens(x, mask)
                                            : ops::mean_pool(graph_, {.x = x, .mask = mask}, "mean");
    if (request_.normalise) pooled = ops::l2_normalise(graph_, {pooled}, "unit");
    graph_.add_output(pooled, "embedding");
  }

  const ModelRequest& request_;
  const BertConfig config_;
  const TokenInputs inputs_;
  Graph graph_;
  TransformerBuilder builder_;
};

}  // namespace

extern constinit const ModelDef bert_def{
    .name = "bert",
    .doc = "BERT encoders, sentence encoders (MiniLM, BGE, E5) and sequence classifiers, with absolute positions.",
    .architectures = "BertModel BertForSequenceClassification",
    .build = [](const ModelRequest& request) { return BertBuilder(request).build(); }};

}  // namespace hone
