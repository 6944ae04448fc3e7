// ModernBERT: norms before each part, rotary positions, gated feed-forward layers, and attention that sees all tokens
// in some layers and a window in the others. Warner et al., "Smarter, Better, Faster, Longer: A Modern Bidirectional
// Encoder for Fast, Memory Efficient, and Long Context Finetuning and Inference" (2024).
#include <optional>

#include "base/error.h"
#include "models/rotary.h"
#include "models/text_encoder.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/linear.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"intermediate_size"},
                                 {"max_position_embeddings"},
                                 {"norm_eps"},
                                 {"norm_bias"},
                                 {"attention_bias"},
                                 {"mlp_bias"},
                                 {"decoder_bias"},
                                 {"classifier_bias"},
                                 {"hidden_activation"},
                                 {"classifier_activation"},
                                 {"classifier_pooling"},
                                 {"local_attention"},
                                 {"layer_types"},
                                 {"global_attn_every_n_layers"},
                                 {"rope_parameters"},
                                 {"global_rope_theta"},
                                 {"local_rope_theta"},
                                 // Of training and of other kernels.
                                 {"layer_norm_eps"},
                                 {"position_embedding_type"},
                                 {"initializer_cutoff_factor"},
                                 {"embedding_dropout"},
                                 {"mlp_dropout"},
                                 {"deterministic_flash_attn"},
                                 {"reference_compile"},
                                 {"repad_logits_with_grad"},
                                 {"sparse_prediction"},
                                 {"sparse_pred_ignore_index"}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  const TextSizes sizes{.vocabulary = config.size("vocab_size"),
                        .hidden = config.size("hidden_size"),
                        .layers = config.layers("num_hidden_layers"),
                        .heads = config.size("num_attention_heads"),
                        .intermediate = config.size("intermediate_size"),
                        .positions = config.size_or("max_position_embeddings", 8192),
                        .epsilon = config.number_or("norm_eps", 1e-5),
                        .activation = config.text_or("hidden_activation", "gelu")};
  require_even_heads(config, sizes);
  if (sizes.hidden / sizes.heads % 2 != 0)
    fail("{}: heads have {} columns; rotary positions turn pairs of them", request.source, sizes.hidden / sizes.heads);
  return sizes;
}

// By layer_types, or every so many layers from the first on.
std::vector<bool> layers_that_see_all(const ModelConfig& config, int64_t layers) {
  std::vector<bool> all;
  if (!config.has("layer_types")) {
    const int64_t every = config.size_or("global_attn_every_n_layers", 3);
    for (int64_t i = 0; i < layers; ++i) all.push_back(i % every == 0);
    return all;
  }
  for (const std::string& type : json_get<std::vector<std::string>>(config.json(), "layer_types", config.source())) {
    if (type != "full_attention" && type != "sliding_attention")
      fail("{}: layer_types has \"{}\"; accepted: full_attention, sliding_attention", config.source(), type);
    all.push_back(type == "full_attention");
  }
  if (std::ssize(all) != layers)
    fail("{}: layer_types has {} entries for {} layers (num_hidden_layers)", config.source(), all.size(), layers);
  return all;
}

double positive(double theta, const std::string& what) {
  if (!(theta > 0)) fail("{} is {}; accepted: above 0", what, theta);
  return theta;
}

// The base of the angles, of rope_parameters or, in older files, of a key of its own.
double theta_of(const ModelConfig& config, const char* type, const char* older, double fallback) {
  if (!config.has("rope_parameters"))
    return positive(config.number_or(older, fallback), config.source() + ": " + older);
  const std::string where = config.source() + ": rope_parameters: " + type;
  const Json all = json_get<Json>(config.json(), "rope_parameters", config.source());
  static constexpr Setting kKinds[] = {{"full_attention"}, {"sliding_attention"}};
  if (all.is_object()) check_settings(all, kKinds, config.source() + ": rope_parameters");
  const Json one = all.is_object() ? all.value(type, Json()) : all;
  if (one.is_null()) return fallback;
  static constexpr Setting kRope[] = {{"rope_type", "\"default\""}, {"rope_theta"}};
  if (!one.is_object()) fail("{} is {}; expected an object", where, json_excerpt(one));
  check_settings(one, kRope, where);
  return positive(one.contains("rope_theta") ? json_get<double>(one, "rope_theta", where) : fallback, where);
}

class ModernBertBuilder : public TextEncoder {
 public:
  explicit ModernBertBuilder(const ModelRequest& request)
      : TextEncoder(request, "modernbert", sizes_of(request), {}),
        sees_all_(layers_that_see_all(config(), sizes().layers)),
        reach_(config().size_or("local_attention", 128) / 2) {}

 private:
  // null stands for the angles of the layers that see all.
  bool has_no_own_theta() const {
    return config().json().contains("local_rope_theta") && !config().has("local_rope_theta");
  }
  bool has_bias(const char* key) const { return config().flag(key); }

  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, bool bias) {
    return bias ? builder().linear(x, name, inputs, outputs) : builder().unbiased_linear(x, name, inputs, outputs);
  }

  ValueId norm(ValueId x, const std::string& name, const std::string& result = "") {
    return has_bias("norm_bias") ? builder().layer_norm(x, name, sizes().hidden, sizes().epsilon, result)
                                 : builder().unbiased_layer_norm(x, name, sizes().hidden, sizes().epsilon, result);
  }

  ValueId columns(ValueId x, int64_t begin, int64_t end) {
    return ops::slice(graph(), {.x = x, .starts = Shape{begin}, .ends = Shape{end}, .axes = std::vector<int64_t>{2}});
  }

  ValueId embedded() override {
    const ValueId positions = builder().positions(Dim::symbol("S"), sizes().positions);
    const int64_t columns = sizes().hidden / sizes().heads;
    const double all = theta_of(config(), "full_attention", "global_rope_theta", 160000),
                 near = theta_of(config(), "sliding_attention", "local_rope_theta", has_no_own_theta() ? all : 10000);
    all_ = rotation(graph(), positions, rotary_frequencies(columns, all));
    near_ = near == all ? all_ : rotation(graph(), positions, rotary_frequencies(columns, near));
    const ValueId words =
        builder().embedding(input("input_ids"), "embeddings.tok_embeddings", sizes().vocabulary, sizes().hidden);
    return norm(words, "embeddings.norm", "embedded");
  }

  ValueId attention(ValueId x, const std::string& at, const std::string& label, bool sees_all) {
    const int64_t hidden = sizes().hidden;
    const ValueId all = linear(x, at + "attn.Wqkv", hidden, 3 * hidden, has_bias("attention_bias"));
    const Rotation& rotation = sees_all ? all_ : near_;
    const auto turned = [&](int64_t i, const char* name) {
      return rotated(graph(), columns(all, i * hidden, (i + 1) * hidden), rotation, sizes().heads, label + name);
    };
    const std::optional<int64_t> reach = sees_all ? std::nullopt : std::optional(reach_);
    const ValueId context = ops::attention(graph(),
                                           {.q = turned(0, "_query"),
                                            .k = turned(1, "_key"),
                                            .v = columns(all, 2 * hidden, 3 * hidden),
                                            .mask = added_mask(),
                                            .heads = sizes().heads,
                                            .before = reach,
                                            .behind = reach},
                                           label + "_context");
    return linear(context, at + "attn.Wo", hidden, hidden, has_bias("attention_bias"));
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const int64_t width = sizes().intermediate;
    const ValueId both = linear(x, at + "mlp.Wi", sizes().hidden, 2 * width, has_bias("mlp_bias"));
    const ValueId active = builder().activation(columns(both, 0, width), sizes().activation);
    const ValueId gated = ops::mul(graph(), {active, columns(both, width, 2 * width)});
    return linear(gated, at + "mlp.Wo", width, sizes().hidden, has_bias("mlp_bias"));
  }

  // The embeddings are normed already, so the first layer's attention reads them as they are.
  ValueId layer(ValueId x, int64_t number) override {
    const std::string at = fmt::format("layers.{}.", number), label = fmt::format("layer{}", number);
    const ValueId read = number == 0 ? x : norm(x, at + "attn_norm");
    x = ops::add(graph(), {x, attention(read, at, label, sees_all_[static_cast<size_t>(number)])}, label + "_attended");
    return ops::add(graph(), {x, feed_forward(norm(x, at + "mlp_norm"), at)}, label + "_output");
  }

  ValueId finished(ValueId x) override { return norm(x, "final_norm", "final"); }

  ValueId head(ValueId x) {
    const ValueId dense = linear(x, "head.dense", sizes().hidden, sizes().hidden, has_bias("classifier_bias"));
    return norm(builder().activation(dense, config().text_or("classifier_activation", "gelu")), "head.norm");
  }

  ValueId class_scores(ValueId x) override {
    const std::string pooling = config().text_or("classifier_pooling", "cls");
    if (pooling != "cls" && pooling != "mean")
      fail("{}: classifier_pooling is \"{}\"; accepted: cls, mean", config().source(), pooling);
    const ValueId pooled =
        pooling == "cls" ? builder().first_token(x) : ops::mean_pool(graph(), {.x = x, .mask = mask()}, "mean");
    return builder().linear(head(pooled), "classifier", sizes().hidden, classes(), "logits");
  }

  ValueId token_scores(ValueId x) override { return TextEncoder::token_scores(head(x)); }

  ValueId span_scores(ValueId x) override { return builder().linear(head(x), "classifier", sizes().hidden, 2); }

  ValueId word_scores(ValueId x) override {
    const bool tied = config().flag("tie_word_embeddings", true);
    const char* table = tied ? "embeddings.tok_embeddings.weight" : "decoder.weight";
    const int64_t words = sizes().vocabulary;
    return ops::linear(graph(),
                       {.x = head(x),
                        .w = builder().weight(table, {words, sizes().hidden}),
                        .b = config().flag("decoder_bias", true) ? builder().weight("decoder.bias", {words}) : kNone},
                       "logits");
  }

  const std::vector<bool> sees_all_;
  const int64_t reach_;  // tokens on either side that a layer with a window sees
  Rotation all_, near_;  // of layers of either kind
};

}  // namespace

extern constinit const ModelDef modernbert_def{
    .name = "modernbert",
    .doc = "ModernBERT: encoders, sentence encoders (GTE, Nomic) and heads.",
    .architectures =
        "ModernBertModel ModernBertForSequenceClassification ModernBertForTokenClassification "
        "ModernBertForMaskedLM ModernBertForQuestionAnswering",
    .build = [](const ModelRequest& request) { return ModernBertBuilder(request).build(); }};

}  // namespace hone
