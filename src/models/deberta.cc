// The DeBERTa family, first version and v2 (which v3 has too): encoder and heads, with configuration and weights as
// Hugging Face names them. Scores add up what tokens say to each other (content to content), what a token
// says to a distance (content to position) and what a distance says to a token (position to content). He et al.,
// "DeBERTa: Decoding-enhanced BERT with disentangled attention" (2020).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "models/distances.h"
#include "models/text_encoder.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/cast.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "ops/registry.h"

namespace hone {
namespace {

enum class Version : uint8_t { first, second };

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
                                 {"pooler_hidden_act"},
                                 {"pooler_hidden_size"},
                                 {"position_biased_input"},
                                 {"relative_attention"},
                                 {"pos_att_type"},
                                 {"max_relative_positions"},
                                 {"position_buckets"},
                                 {"norm_rel_ebd"},
                                 {"share_att_key"},
                                 {"attention_head_size"},
                                 {"conv_kernel_size"},
                                 {"conv_groups"},
                                 {"conv_act"},
                                 {"legacy"},
                                 {"talking_head", "false"},
                                 // Of training, and what transformers does not read.
                                 {"pooler_dropout"},
                                 {"cls_dropout"},
                                 {"padding_idx"},
                                 {"z_steps"}};

struct DebertaConfig {
  Version version = Version::first;
  TextSizes text;
  int64_t embedding = 0;
  bool absolute_positions = true;
  bool relative = false, to_position = false, from_position = false;  // c2p, p2c
  bool shares_keys = false, norms_distances = false;
  DistanceTable distances;
  int64_t convolution = 0, convolution_groups = 1;  // extent of the window; 0: none
  std::string convolution_activation;
};

// A list, or one text with "|" between its items.
std::vector<std::string> items(const ModelConfig& config, const std::string& key) {
  std::vector<std::string> list;
  if (config.has(key) && config.json().at(key).is_array())
    list = json_get<std::vector<std::string>>(config.json(), key, config.source());
  else list = split(config.text_or(key, ""), '|');
  for (std::string& item : list) item = trim(item);
  std::erase(list, "");
  return list;
}

void expect_equal(const ModelConfig& config, const std::string& key, int64_t wanted, const char* why) {
  const int64_t found = config.size_or(key, wanted);
  if (found != wanted) fail("{}: {} is {}; accepted: {}, {}", config.source(), key, found, wanted, why);
}

void read_attention(const ModelConfig& config, DebertaConfig& d) {
  d.relative = config.flag("relative_attention");
  for (const std::string& kind : items(config, "pos_att_type")) {
    if (kind != "c2p" && kind != "p2c")
      fail("{}: pos_att_type has \"{}\", which is not supported; accepted: c2p, p2c", config.source(), kind);
    (kind == "c2p" ? d.to_position : d.from_position) = true;
  }
  const int64_t farthest = config.size_unless_none("max_relative_positions", d.text.positions);
  d.distances = {.span = farthest, .farthest = 0};
  if (d.version == Version::first) return;
  d.shares_keys = config.flag("share_att_key");
  const std::vector<std::string> norms = items(config, "norm_rel_ebd");
  d.norms_distances = std::ranges::find(norms, "layer_norm") != norms.end();
  expect_equal(config, "attention_head_size", d.text.hidden / d.text.heads, "hidden_size / num_attention_heads");
  const int64_t buckets = config.size_unless_none("position_buckets", 0);
  if (buckets == 0) return;
  if (buckets < 2 || farthest - 1 <= buckets / 2)
    fail("{}: position_buckets is {}; accepted: -1, or 2 to {}, for distances up to {}", config.source(), buckets,
         2 * farthest - 3, farthest);
  d.distances = {.span = buckets, .farthest = farthest};
}

DebertaConfig read_config(const ModelRequest& request, Version version) {
  const ModelConfig config(request);
  config.check(kSettings);
  DebertaConfig d;
  d.version = version;
  d.text = text_sizes(config);
  d.text.epsilon = config.number_or("layer_norm_eps", 1e-7);
  d.embedding = config.size_or("embedding_size", d.text.hidden);
  d.absolute_positions = config.flag("position_biased_input", true);
  expect_equal(config, "pooler_hidden_size", d.text.hidden, "hidden_size");
  read_attention(config, d);
  if (version == Version::second) d.convolution = config.size_unless_none("conv_kernel_size", 0);
  d.convolution_groups = config.size_or("conv_groups", 1);
  d.convolution_activation = config.text_or("conv_act", "tanh");
  return d;
}

TextHeads heads_of(const ModelRequest& request, const DebertaConfig& d) {
  const ModelConfig config(request);
  const bool legacy = config.flag("legacy", true);
  const std::string words = legacy ? "cls.predictions." : "lm_predictions.lm_head.",
                    table = "embeddings.word_embeddings";
  return {.class_dense = "pooler.dense",
          .class_activation = config.text_or("pooler_hidden_act", "gelu"),
          .class_out = "classifier",
          .word_dense = words + (legacy ? "transform.dense" : "dense"),
          .word_activation = d.text.activation,
          .word_norm = words + (legacy ? "transform.LayerNorm" : "LayerNorm"),
          .word_decoder = legacy ? words + "decoder" : table,
          .word_bias = words + "bias",
          .word_table = table,
          .word_columns = d.embedding};
}

class DebertaBuilder : public TextEncoder {
 public:
  DebertaBuilder(const ModelRequest& request, Version version)
      : DebertaBuilder(request, read_config(request, version)) {}

 private:
  DebertaBuilder(const ModelRequest& request, const DebertaConfig& config)
      : TextEncoder(request, "deberta", config.text, heads_of(request, config)),
        config_(config),
        graph_(graph()),
        builder_(builder()) {}

  ValueId embedded() override {
    const ValueId ids = input("input_ids");
    kept_ = ops::cast(graph_, {.x = mask(), .dtype = DType::f32});
    pair_mask_ = mask_of_pairs();
    if (config_.relative && config_.to_position) falling_ = distances(ids, Order::falling);
    if (config_.relative && config_.from_position) rising_ = distances(ids, Order::rising);
    return embeddings_ = embeddings(ids);
  }

  ValueId layer(ValueId x, int64_t number) override {
    x = encoder_layer(x, number);
    return number == 0 && config_.convolution > 0 ? convolved(embeddings_, x) : x;
  }

  ValueId unsqueezed(ValueId x, std::vector<int64_t> axes) {
    return ops::unsqueeze(graph_, {.x = x, .axes = std::move(axes)});
  }

  // x where the mask is 1, 0 elsewhere.
  ValueId masked(ValueId x, const char* name) { return ops::mul(graph_, {x, unsqueezed(kept_, {2})}, name); }

  ValueId embeddings(ValueId ids) {
    const int64_t columns = config_.embedding;
    ValueId x = builder_.embedding(ids, "embeddings.word_embeddings", sizes().vocabulary, columns);
    if (config_.absolute_positions) {
      const ValueId positions = builder_.positions(Dim::symbol("S"), sizes().positions);
      x = ops::add(graph_,
                   {x, builder_.embedding(positions, "embeddings.position_embeddings", sizes().positions, columns)});
    }
    if (sizes().token_types > 0) {  // without token types every token is of type 0
      const ValueId types = input("token_type_ids") != kNone ? input("token_type_ids") : graph_.add_scalar(int64_t{0});
      x = ops::add(graph_,
                   {x, builder_.embedding(types, "embeddings.token_type_embeddings", sizes().token_types, columns)});
    }
    if (columns != sizes().hidden) x = builder_.unbiased_linear(x, "embeddings.embed_proj", columns, sizes().hidden);
    return masked(builder_.layer_norm(x, "embeddings.LayerNorm", sizes().hidden, sizes().epsilon), "embedded");
  }

  // f32[B,1,S,S] to add to scores: the lowest f32 but where both tokens count. A token that does not count sees all
  // alike.
  ValueId mask_of_pairs() {
    const ValueId both = ops::mul(graph_, {unsqueezed(kept_, {1, 3}), unsqueezed(kept_, {1, 2})});
    const ValueId dropped = ops::sub(graph_, {graph_.add_scalar(1.0f), both});
    return ops::mul(graph_, {dropped, graph_.add_scalar(std::numeric_limits<float>::lowest())}, "mask");
  }

  // f32[2S,hidden]: what the model knows of each distance.
  ValueId distances(ValueId ids, Order order) {
    const DistanceTable& table = config_.distances;
    const ValueId rows = builder_.embedding(distance_rows(graph_, ids, table, order), "encoder.rel_embeddings",
                                            2 * table.span, sizes().hidden);
    if (!config_.norms_distances) return rows;
    return builder_.layer_norm(rows, "encoder.LayerNorm", sizes().hidden, sizes().epsilon);
  }

  // [...,L,heads*D] → [...,heads,L,D]
  ValueId by_head(ValueId x) {
    Shape shape = graph_.type(x).shape;
    shape.back() = sizes().hidden / sizes().heads;
    shape.insert(shape.end() - 1, sizes().heads);
    const ValueId split = ops::reshape(graph_, {.x = x, .shape = shape});
    const auto perm = shape.size() == 4 ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{1, 0, 2};
    return ops::transpose(graph_, {.x = split, .perm = perm});
  }

  // The products of each token's row with those of the distances from it, f32[B,heads,S,S].
  ValueId products(ValueId tokens, ValueId distances) {
    const ValueId all = ops::matmul(graph_, {.a = by_head(tokens), .b = by_head(distances), .transpose_b = 1});
    return lines_aligned(graph_, all);
  }

  struct Projected {
    ValueId query, key, value;
  };

  // Version 1 has the rows of query, key and value of each head side by side, and no bias for keys.
  Projected projected_at_once(ValueId x, const std::string& at, const std::string& label) {
    const int64_t hidden = sizes().hidden, columns = hidden / sizes().heads;
    const Shape of_head{sizes().heads, 1, columns};
    const auto bias = [&](const char* name) {
      return ops::reshape(graph_, {.x = builder_.as_f32(builder_.weight(at + name, {hidden})), .shape = of_head});
    };
    const ValueId none = graph_.add_constant("", Tensor(DType::f32, constant_shape(of_head)));
    const ValueId biases = ops::concat(graph_, {.inputs = {bias("q_bias"), none, bias("v_bias")}, .axis = 1});
    const ValueId all = ops::linear(graph_, {.x = x,
                                             .w = builder_.weight(at + "in_proj.weight", {3 * hidden, hidden}),
                                             .b = ops::reshape(graph_, {.x = biases, .shape = Shape{3 * hidden}})});
    const Shape shape = graph_.type(x).shape;
    const ValueId split =
        ops::reshape(graph_, {.x = all, .shape = Shape{shape[0], shape[1], sizes().heads, 3, columns}});
    const auto part = [&](int64_t i, const char* name) {
      const ValueId one =
          ops::slice(graph_, {.x = split, .starts = Shape{i}, .ends = Shape{i + 1}, .axes = std::vector<int64_t>{3}});
      return ops::reshape(graph_, {.x = one, .shape = shape}, label + name);
    };
    return {part(0, "_query"), part(1, "_key"), part(2, "_value")};
  }

  Projected projected(ValueId x, const std::string& at, const std::string& label) {
    if (config_.version == Version::first) return projected_at_once(x, at, label);
    const auto part = [&](const char* weights, const char* name) {
      return builder_.linear(x, at + weights, sizes().hidden, sizes().hidden, label + name);
    };
    return {part("query_proj", "_query"), part("key_proj", "_key"), part("value_proj", "_value")};
  }

  ValueId distance_keys(const std::string& at) {
    const int64_t hidden = sizes().hidden;
    if (config_.version == Version::first) return builder_.unbiased_linear(falling_, at + "pos_proj", hidden, hidden);
    return builder_.linear(falling_, at + (config_.shares_keys ? "key_proj" : "pos_key_proj"), hidden, hidden);
  }

  ValueId distance_queries(const std::string& at) {
    const char* name = config_.version == Version::first ? "pos_q_proj"
                       : config_.shares_keys             ? "query_proj"
                                                         : "pos_query_proj";
    return builder_.linear(rising_, at + name, sizes().hidden, sizes().hidden);
  }

  ValueId attention(ValueId x, const std::string& at, const std::string& label) {
    const Projected p = projected(x, at, label);
    const int kinds = 1 + config_.to_position + config_.from_position;
    const double scale = 1 / std::sqrt(static_cast<double>(kinds * (sizes().hidden / sizes().heads)));
    ValueId scores = kNone;
    if (falling_ != kNone) scores = products(p.query, distance_keys(at));
    if (rising_ != kNone) {
      const ValueId from_distances = ops::transpose(
          graph_, {.x = products(p.key, distance_queries(at)), .perm = std::vector<int64_t>{0, 1, 3, 2}});
      scores = scores == kNone ? from_distances : ops::add(graph_, {scores, from_distances});
    }
    ValueId added = pair_mask_;
    if (scores != kNone)
      added = ops::add(graph_, {ops::mul(graph_, {scores, graph_.add_scalar(static_cast<float>(scale))}), pair_mask_},
                       label + "_distances");
    return ops::attention(
        graph_, {.q = p.query, .k = p.key, .v = p.value, .mask = added, .heads = sizes().heads, .scale = scale},
        label + "_context");
  }

  ValueId encoder_layer(ValueId x, int64_t layer) {
    const std::string at = fmt::format("encoder.layer.{}.", layer), label = fmt::format("layer{}", layer);
    const ValueId context = attention(x, at + "attention.self.", label);
    return after_attention(builder_, x, context, block(at, layer));
  }

  // A convolution over neighbouring tokens of the embeddings, beside the first layer.
  ValueId convolved(ValueId embedded, ValueId x) {
    const int64_t hidden = sizes().hidden, groups = config_.convolution_groups, window = config_.convolution;
    const int64_t before = (window - 1) / 2;
    const std::vector<int64_t> swap{0, 2, 1};
    const ValueId w = builder_.weight("encoder.conv.conv.weight", {hidden, hidden / groups, window});
    const ValueId b = builder_.weight("encoder.conv.conv.bias", {hidden});
    const ValueId channels = ops::transpose(graph_, {.x = embedded, .perm = swap});
    const ValueId sums = ops::conv(
        graph_, {.x = channels, .w = w, .b = b, .pads = std::vector<int64_t>{before, before}, .groups = groups});
    const ValueId rows = masked(ops::transpose(graph_, {.x = sums, .perm = swap}), "convolved");
    const ValueId sum = ops::add(graph_, {x, builder_.activation(rows, config_.convolution_activation)});
    return masked(builder_.layer_norm(sum, "encoder.conv.LayerNorm", hidden, sizes().epsilon),
                  "layer0_with_neighbours");
  }

  const DebertaConfig config_;
  Graph& graph_;
  TransformerBuilder& builder_;
  ValueId embeddings_ = kNone;                // f32[B,S,hidden]
  ValueId kept_ = kNone, pair_mask_ = kNone;  // f32[B,S]; f32[B,1,S,S]
  ValueId falling_ = kNone, rising_ = kNone;  // f32[2S,hidden], where scores need them
};

constexpr ModelPreset kFirstPresets[] = {
    {"deberta-base", R"({"vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
      "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 0, "num_labels": 2,
      "relative_attention": true, "max_relative_positions": -1, "pos_att_type": "c2p|p2c",
      "position_biased_input": false, "layer_norm_eps": 1e-7, "hidden_act": "gelu", "pooler_hidden_act": "gelu"})"},
    {"deberta-xlarge", R"({"vocab_size": 50265, "hidden_size": 1024, "num_hidden_layers": 48, "num_attention_heads": 16,
      "intermediate_size": 4096, "max_position_embeddings": 512, "type_vocab_size": 0, "num_labels": 2,
      "relative_attention": true, "max_relative_positions": -1, "pos_att_type": "c2p|p2c",
      "position_biased_input": false, "layer_norm_eps": 1e-7, "hidden_act": "gelu", "pooler_hidden_act": "gelu"})"}};

constexpr ModelPreset kSecondPresets[] = {
    {"deberta-v2-xlarge", R"({"vocab_size": 128100, "hidden_size": 1536, "num_hidden_layers": 24,
      "num_attention_heads": 24, "intermediate_size": 6144, "max_position_embeddings": 512, "type_vocab_size": 0,
      "num_labels": 2, "relative_attention": true, "position_buckets": 256, "norm_rel_ebd": "layer_norm",
      "share_att_key": true, "pos_att_type": "p2c|c2p", "conv_kernel_size": 3, "conv_act": "gelu",
      "max_relative_positions": -1, "position_biased_input": false, "layer_norm_eps": 1e-7, "hidden_act": "gelu",
      "pooler_hidden_act": "gelu"})"},
    {"deberta-v3-small", R"({"vocab_size": 128100, "hidden_size": 768, "num_hidden_layers": 6,
      "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 0,
      "num_labels": 2, "relative_attention": true, "position_buckets": 256, "norm_rel_ebd": "layer_norm",
      "share_att_key": true, "pos_att_type": "p2c|c2p", "max_relative_positions": -1, "position_biased_input": false,
      "layer_norm_eps": 1e-7, "hidden_act": "gelu", "pooler_hidden_act": "gelu"})"}};

}  // namespace

extern constinit const ModelDef deberta_def{
    .name = "deberta",
    .doc = "DeBERTa of the first version: encoders, sentence encoders and heads.",
    .architectures =
        "DebertaForSequenceClassification DebertaModel DebertaForTokenClassification DebertaForMaskedLM "
        "DebertaForQuestionAnswering",
    .presets = kFirstPresets,
    .build = [](const ModelRequest& request) { return DebertaBuilder(request, Version::first).build(); }};
extern constinit const ModelDef deberta_v2_def{
    .name = "deberta_v2",
    .doc = "DeBERTa v2 and v3: encoders, sentence encoders and heads.",
    .architectures =
        "DebertaV2ForSequenceClassification DebertaV2Model DebertaV2ForTokenClassification "
        "DebertaV2ForMaskedLM DebertaV2ForQuestionAnswering",
    .presets = kSecondPresets,
    .build = [](const ModelRequest& request) { return DebertaBuilder(request, Version::second).build(); }};

}  // namespace hone
