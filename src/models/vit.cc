// ViT and DeiT, encoders and classifiers of images, with Hugging Face's names. DeiT has a second token in front, which
// learnt from a teacher. Dosovitskiy et al., "An image is worth 16x16 words" (2020); Touvron et al., "Training
// data-efficient image transformers & distillation through attention" (2020).
#include "base/error.h"
#include "models/classifier.h"
#include "models/image_tokens.h"
#include "models/pre_norm_block.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {
    {"hidden_size"},        {"num_hidden_layers"}, {"num_attention_heads"}, {"intermediate_size"}, {"hidden_act"},
    {"layer_norm_eps"},     {"image_size"},        {"patch_size"},          {"num_channels"},      {"qkv_bias"},
    {"pooler_output_size"}, {"pooler_act"},        {"encoder_stride"}};  // of masked images alone

enum class Head : uint8_t { states, classes, taught_classes };

struct VitConfig {
  PatchGrid grid;
  int64_t hidden, layers, heads, intermediate, pooled, classes;
  double epsilon;
  std::string activation, pooler_activation;
  bool biased, distilled;
  Head head;
};

VitConfig read_config(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  const auto name = json_get<std::vector<std::string>>(request.config, "architectures", request.source).at(0);
  VitConfig vit{.grid = read_patch_grid(config, 16),
                .hidden = config.size("hidden_size"),
                .layers = config.layers("num_hidden_layers"),
                .heads = config.size("num_attention_heads"),
                .intermediate = config.size("intermediate_size"),
                .pooled = config.size_or("pooler_output_size", config.size("hidden_size")),
                .classes = class_count(config),
                .epsilon = config.number_or("layer_norm_eps", 1e-12),
                .activation = config.text_or("hidden_act", "gelu"),
                .pooler_activation = config.text_or("pooler_act", "tanh"),
                .biased = config.flag("qkv_bias", true),
                .distilled = name.starts_with("DeiT"),
                .head = name.ends_with("WithTeacher")              ? Head::taught_classes
                        : name.ends_with("ForImageClassification") ? Head::classes
                                                                   : Head::states};
  if (vit.hidden % vit.heads != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {}", request.source, vit.hidden, vit.heads);
  return vit;
}

class VitBuilder {
 public:
  explicit VitBuilder(const ModelRequest& request) : config_(read_config(request)), builder_(graph_, request) {
    graph_.name = config_.distilled ? "deit" : "vit";
    graph_.metadata["family"] = graph_.name;
  }

  Graph build() {
    ValueId x = embedded();
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = pre_norm_block(builder_, x, kNone, block(layer));
    x = builder_.layer_norm(x, "layernorm", config_.hidden, config_.epsilon);
    if (config_.head == Head::states) state_outputs(x);
    else if (config_.head == Head::classes) graph_.add_output(scores(token(x, 0), "classifier", "logits"), "logits");
    else taught_outputs(x);
    return std::move(graph_);
  }

 private:
  ValueId learned(const char* name, int64_t rows) {
    return builder_.as_f32(builder_.weight(name, {1, rows, config_.hidden}));
  }

  ValueId embedded() {
    const int64_t front = config_.distilled ? 2 : 1, side = config_.grid.side();
    ImageTokens tokens{.hidden = config_.hidden, .projection = "embeddings.patch_embeddings.projection"};
    tokens.first.push_back(learned("embeddings.cls_token", 1));
    if (config_.distilled) tokens.first.push_back(learned("embeddings.distillation_token", 1));
    tokens.positions = learned("embeddings.position_embeddings", front + side * side);
    return image_tokens(builder_, image_input(builder_, config_.grid), config_.grid, tokens);
  }

  PreNormBlock block(int64_t layer) const {
    const std::string at = fmt::format("encoder.layer.{}.", layer);
    return {.hidden = config_.hidden,
            .heads = config_.heads,
            .intermediate = config_.intermediate,
            .epsilon = config_.epsilon,
            .activation = config_.activation,
            .attention_norm = at + "layernorm_before",
            .query = at + "attention.attention.query",
            .key = at + "attention.attention.key",
            .value = at + "attention.attention.value",
            .attention_output = at + "attention.output.dense",
            .mlp_norm = at + "layernorm_after",
            .up = at + "intermediate.dense",
            .down = at + "output.dense",
            .query_bias = config_.biased,
            .key_bias = config_.biased,
            .value_bias = config_.biased,
            .label = fmt::format("layer{}", layer)};
  }

  ValueId token(ValueId x, int64_t number) {
    const std::vector<int64_t> axis{1};
    const ValueId one = ops::slice(graph_, {.x = x, .starts = Shape{number}, .ends = Shape{number + 1}, .axes = axis});
    return ops::squeeze(graph_, {.x = one, .axes = axis});
  }
  ValueId scores(ValueId x, const char* name, const char* result) {
    return builder_.linear(x, name, config_.hidden, config_.classes, result);
  }

  void state_outputs(ValueId x) {
    graph_.add_output(x, "last_hidden_state");
    if (!builder_.has_weight("pooler.dense.weight")) return;
    const ValueId dense = builder_.linear(token(x, 0), "pooler.dense", config_.hidden, config_.pooled);
    graph_.add_output(builder_.activation(dense, config_.pooler_activation), "pooler_output");
  }

  void taught_outputs(ValueId x) {
    const ValueId own = scores(token(x, 0), "cls_classifier", "cls_logits");
    const ValueId taught = scores(token(x, 1), "distillation_classifier", "distillation_logits");
    const ValueId sum = ops::add(graph_, {own, taught});
    graph_.add_output(ops::mul(graph_, {sum, graph_.add_scalar(0.5f)}, "logits"), "logits");
    graph_.add_output(own, "cls_logits");
    graph_.add_output(taught, "distillation_logits");
  }

  const VitConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
};

}  // namespace

extern constinit const ModelDef vit_def{
    .name = "vit",
    .doc = "ViT and DeiT: encoders and classifiers of images, of any size by interpolated positions.",
    .architectures =
        "ViTForImageClassification ViTModel DeiTForImageClassification "
        "DeiTForImageClassificationWithTeacher DeiTModel",
    .build = [](const ModelRequest& request) { return VitBuilder(request).build(); }};

}  // namespace hone
