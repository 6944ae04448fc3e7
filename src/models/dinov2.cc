// DINOv2, encoders and classifiers of images, with Hugging Face's names: a ViT whose branches are scaled, with a gated
// MLP in the largest. Oquab et al., "DINOv2: Learning robust visual features without supervision" (2023).
#include <cmath>

#include "base/error.h"
#include "models/classifier.h"
#include "models/image_tokens.h"
#include "models/pre_norm_block.h"
#include "ops/calls/concat.h"
#include "ops/calls/reduce.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"mlp_ratio"},
                                 {"hidden_act"},
                                 {"layer_norm_eps"},
                                 {"image_size"},
                                 {"patch_size"},
                                 {"num_channels"},
                                 {"qkv_bias"},
                                 {"use_swiglu_ffn"},
                                 {"use_mask_token"},  // of masked images alone
                                 {"layerscale_value"},
                                 {"drop_path_rate"},
                                 // Of backbones, which are other architectures.
                                 {"apply_layernorm"},
                                 {"reshape_hidden_states"},
                                 {"out_features"},
                                 {"out_indices"},
                                 {"stage_names"}};

struct Dinov2Config {
  PatchGrid grid;
  int64_t hidden, layers, heads, intermediate, classes;
  double epsilon;
  std::string activation;
  bool biased, gated, classifies;
};

// mlp_ratio times the hidden size; a gated MLP keeps two thirds of it, rounded up to a multiple of 8.
int64_t intermediate_size(const ModelConfig& config, int64_t hidden, bool gated) {
  constexpr double kMostRatio = 1 << 10;
  const double ratio = config.number_or("mlp_ratio", 4);
  if (!(ratio > 0 && ratio <= kMostRatio && std::floor(ratio * static_cast<double>(hidden)) >= 1))
    fail("{}: key \"mlp_ratio\" is {}; accepted: a number above 0, at most {}", config.source(), ratio, kMostRatio);
  const auto plain = static_cast<int64_t>(ratio * static_cast<double>(hidden));
  return gated ? (static_cast<int64_t>(static_cast<double>(plain * 2) / 3) + 7) / 8 * 8 : plain;
}

Dinov2Config read_config(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  const auto name = json_get<std::vector<std::string>>(request.config, "architectures", request.source).at(0);
  const int64_t hidden = config.size("hidden_size");
  const bool gated = config.flag("use_swiglu_ffn");
  Dinov2Config dino{.grid = read_patch_grid(config, 14),
                    .hidden = hidden,
                    .layers = config.layers("num_hidden_layers"),
                    .heads = config.size("num_attention_heads"),
                    .intermediate = intermediate_size(config, hidden, gated),
                    .classes = class_count(config),
                    .epsilon = config.number_or("layer_norm_eps", 1e-6),
                    .activation = config.text_or("hidden_act", "gelu"),
                    .biased = config.flag("qkv_bias", true),
                    .gated = gated,
                    .classifies = name.ends_with("ForImageClassification")};
  if (hidden % dino.heads != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {}", request.source, hidden, dino.heads);
  return dino;
}

class Dinov2Builder {
 public:
  explicit Dinov2Builder(const ModelRequest& request) : config_(read_config(request)), builder_(graph_, request) {
    graph_.name = "dinov2";
    graph_.metadata["family"] = "dinov2";
  }

  Graph build() {
    ValueId x = embedded();
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = pre_norm_block(builder_, x, kNone, block(layer));
    x = builder_.layer_norm(x, "layernorm", config_.hidden, config_.epsilon);
    const ValueId first = builder_.first_token(x);
    if (config_.classifies) {
      const ValueId both = ops::concat(graph_, {.inputs = {first, mean_of_patches(x)}, .axis = 1});
      graph_.add_output(builder_.linear(both, "classifier", 2 * config_.hidden, config_.classes, "logits"), "logits");
    } else {
      graph_.add_output(x, "last_hidden_state");
      graph_.add_output(first, "pooler_output");
    }
    return std::move(graph_);
  }

 private:
  ValueId embedded() {
    const int64_t side = config_.grid.side(), hidden = config_.hidden;
    const auto learned = [&](const char* name, int64_t rows) {
      return builder_.as_f32(builder_.weight(name, {1, rows, hidden}));
    };
    ImageTokens tokens{.hidden = hidden, .projection = "embeddings.patch_embeddings.projection"};
    tokens.first.push_back(learned("embeddings.cls_token", 1));
    tokens.positions = learned("embeddings.position_embeddings", 1 + side * side);
    return image_tokens(builder_, image_input(builder_, config_.grid), config_.grid, tokens);
  }

  PreNormBlock block(int64_t layer) const {
    const std::string at = fmt::format("encoder.layer.{}.", layer);
    return {.hidden = config_.hidden,
            .heads = config_.heads,
            .intermediate = config_.intermediate,
            .epsilon = config_.epsilon,
            .activation = config_.activation,
            .attention_norm = at + "norm1",
            .query = at + "attention.attention.query",
            .key = at + "attention.attention.key",
            .value = at + "attention.attention.value",
            .attention_output = at + "attention.output.dense",
            .mlp_norm = at + "norm2",
            .up = at + (config_.gated ? "mlp.weights_in" : "mlp.fc1"),
            .down = at + (config_.gated ? "mlp.weights_out" : "mlp.fc2"),
            .attention_scale = at + "layer_scale1.lambda1",
            .mlp_scale = at + "layer_scale2.lambda1",
            .query_bias = config_.biased,
            .key_bias = config_.biased,
            .value_bias = config_.biased,
            .gated = config_.gated,
            .label = fmt::format("layer{}", layer)};
  }

  ValueId mean_of_patches(ValueId x) {
    const std::vector<int64_t> axis{1};
    const Dim tokens = graph_.type(x).shape[1];
    const ValueId patches = ops::slice(graph_, {.x = x, .starts = Shape{1}, .ends = Shape{tokens}, .axes = axis});
    return ops::reduce_mean(graph_, {.x = patches, .axes = axis, .keepdims = 0});
  }

  const Dinov2Config config_;
  Graph graph_;
  TransformerBuilder builder_;
};

}  // namespace

extern constinit const ModelDef dinov2_def{
    .name = "dinov2",
    .doc = "DINOv2: encoders and classifiers of images, of any size by interpolated positions.",
    .architectures = "Dinov2ForImageClassification Dinov2Model",
    .build = [](const ModelRequest& request) { return Dinov2Builder(request).build(); }};

}  // namespace hone
