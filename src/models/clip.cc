// CLIP: a causal transformer of texts and a ViT of images whose embeddings lie in one space, both or either, with
// Hugging Face's names. Radford et al., "Learning transferable visual models from natural language supervision" (2021).
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/classifier.h"
#include "models/image_tokens.h"
#include "models/pre_norm_block.h"
#include "ops/calls/argmax.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/matmul.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transcendental.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

constexpr Setting kTowerSettings[] = {
    {"hidden_size"}, {"num_hidden_layers"}, {"num_attention_heads"}, {"intermediate_size"},
    {"hidden_act"},  {"layer_norm_eps"},    {"projection_dim"},      {"vocab_size"},
    {"image_size"},  {"patch_size"},        {"num_channels"},        {"max_position_embeddings"},
    {"dropout"},     {"bad_words_ids"},     {"suppress_tokens"},     {"begin_suppress_tokens"}};
constexpr Setting kSettings[] = {{"text_config"},        {"vision_config"},  {"text_config_dict"},
                                 {"vision_config_dict"}, {"projection_dim"}, {"logit_scale_init_value"}};
constexpr int64_t kUsualProjection = 512;

// What both towers are made of.
struct Tower {
  int64_t hidden, layers, heads, intermediate, projected;
  double epsilon;
  std::string activation;
};

Tower read_tower(const ModelConfig& config, const Tower& usual) {
  const Tower tower{.hidden = config.size_or("hidden_size", usual.hidden),
                    .layers = config.has("num_hidden_layers") ? config.layers("num_hidden_layers") : usual.layers,
                    .heads = config.size_or("num_attention_heads", usual.heads),
                    .intermediate = config.size_or("intermediate_size", usual.intermediate),
                    .projected = config.size_or("projection_dim", kUsualProjection),
                    .epsilon = config.number_or("layer_norm_eps", usual.epsilon),
                    .activation = config.text_or("hidden_act", usual.activation)};
  if (tower.hidden % tower.heads != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {}", config.source(), tower.hidden, tower.heads);
  return tower;
}

// The part of a configuration of both towers; older files repeat it under KEY_dict, which then holds.
Json part_of(const ModelRequest& request, const std::string& key) {
  for (const std::string& name : {key + "_dict", key}) {
    const Json part = request.config.value(name, Json());
    if (part.is_object()) return part;
    if (!part.is_null()) fail("{}: key \"{}\" is {}; accepted: an object", request.source, name, json_excerpt(part));
  }
  return Json::object();
}

class ClipBuilder {
 public:
  explicit ClipBuilder(const ModelRequest& request)
      : request_(request),
        architecture_(json_get<std::vector<std::string>>(request.config, "architectures", request.source).at(0)),
        has_both_(architecture_ == "CLIPModel"),
        text_json_(is_whole() ? part_of(request, "text_config") : request.config),
        vision_json_(is_whole() ? part_of(request, "vision_config") : request.config),
        text_source_(request.source + (is_whole() ? ": text_config" : "")),
        vision_source_(request.source + (is_whole() ? ": vision_config" : "")),
        builder_(graph_, request) {
    if (is_whole()) ModelConfig(request).check(kSettings);
    graph_.name = "clip";
    graph_.metadata["family"] = "clip";
    choose_inputs();
  }

  Graph build() {
    if (architecture_ == "CLIPForImageClassification") classify();
    else if (has_both_) embed();
    else if (architecture_.starts_with("CLIPText")) text_outputs();
    else vision_outputs();
    return std::move(graph_);
  }

 private:
  struct Encoded {
    ValueId states, pooled;  // f32[B,S,hidden], f32[B,hidden]
  };

  bool is_whole() const { return has_both_ || architecture_ == "CLIPForImageClassification"; }
  bool takes(const std::string& name) const { return std::ranges::find(inputs_, name) != inputs_.end(); }

  // Of a model of both towers, images or texts alone give their embeddings.
  void choose_inputs() {
    std::vector<std::string> known;
    if (has_both_ || architecture_.starts_with("CLIPText")) known = {"input_ids", "attention_mask"};
    if (!architecture_.starts_with("CLIPText")) known.emplace_back("pixel_values");
    inputs_ = request_.inputs.empty() ? known : request_.inputs;
    for (const std::string& name : inputs_) {
      if (std::ranges::find(known, name) == known.end())
        fail("\"{}\" is not an input of this model; accepted: {}{}", name, fmt::join(known, ", "),
             did_you_mean(name, known));
      if (std::ranges::count(inputs_, name) > 1) fail("input \"{}\" is listed twice", name);
    }
    if (takes("attention_mask") && !takes("input_ids"))
      fail("inputs {} lack input_ids, which the mask is of", fmt::join(inputs_, ", "));
    for (const std::string& name : inputs_) declare(name);
  }

  void declare(const std::string& name) {
    // Texts and images of one run may differ in number.
    const bool beside_texts = name == "pixel_values" && takes("input_ids");
    if (name != "pixel_values") {
      const Shape shape{Dim::symbol("B"), Dim::symbol("S")};
      given_[name] = graph_.add_input(name, {.dtype = DType::i64, .shape = shape, .format = {}});
      return;
    }
    const PatchGrid grid = vision_grid();
    const Shape shape{Dim::symbol(beside_texts ? "I" : "B"), grid.channels, Dim::symbol("H"), Dim::symbol("W")};
    graph_.metadata["image_size"] = std::to_string(grid.image_size);
    given_[name] = graph_.add_input(name, {.dtype = DType::f32, .shape = shape, .format = {}});
  }

  ModelConfig text_config() const { return ModelConfig(text_json_, text_source_); }
  ModelConfig vision_config() const { return ModelConfig(vision_json_, vision_source_); }
  PatchGrid vision_grid() const { return read_patch_grid(vision_config(), 32); }

  // Where the folder holds one tower alone, its names may lack the tower's.
  std::string prefix(const std::string& tower, const char* sample) const {
    return !is_whole() && !builder_.has_weight(tower + sample) && builder_.has_weight(sample) ? "" : tower;
  }

  ValueId encoded(ValueId x, ValueId mask, const Tower& tower, const std::string& prefix, bool causal) {
    for (int64_t layer = 0; layer < tower.layers; ++layer) {
      const std::string at = fmt::format("{}encoder.layers.{}.", prefix, layer);
      x = pre_norm_block(builder_, x, mask,
                         {.hidden = tower.hidden,
                          .heads = tower.heads,
                          .intermediate = tower.intermediate,
                          .epsilon = tower.epsilon,
                          .activation = tower.activation,
                          .attention_norm = at + "layer_norm1",
                          .query = at + "self_attn.q_proj",
                          .key = at + "self_attn.k_proj",
                          .value = at + "self_attn.v_proj",
                          .attention_output = at + "self_attn.out_proj",
                          .mlp_norm = at + "layer_norm2",
                          .up = at + "mlp.fc1",
                          .down = at + "mlp.fc2",
                          .causal = causal,
                          .label = fmt::format("{}_layer{}", causal ? "text" : "image", layer)});
    }
    return x;
  }

  Tower text_tower() const {
    return read_tower(text_config(), {.hidden = 512,
                                      .layers = 12,
                                      .heads = 8,
                                      .intermediate = 2048,
                                      .projected = kUsualProjection,
                                      .epsilon = 1e-5,
                                      .activation = "quick_gelu"});
  }
  Tower vision_tower() const {
    return read_tower(vision_config(), {.hidden = 768,
                                        .layers = 12,
                                        .heads = 12,
                                        .intermediate = 3072,
                                        .projected = kUsualProjection,
                                        .epsilon = 1e-5,
                                        .activation = "quick_gelu"});
  }

  Encoded texts(const Tower& tower) {
    const ModelConfig config = text_config();
    config.check(kTowerSettings);
    const std::string at = prefix("text_model.", "embeddings.token_embedding.weight");
    const int64_t most = config.size_or("max_position_embeddings", 77);
    graph_.metadata["max_positions"] = std::to_string(most);  // what texts are cut to
    const ValueId ids = given_.at("input_ids");
    const ValueId words =
        builder_.embedding(ids, at + "embeddings.token_embedding", config.size_or("vocab_size", 49408), tower.hidden);
    const ValueId places = builder_.positions(Dim::symbol("S"), most);
    const ValueId positions = builder_.embedding(places, at + "embeddings.position_embedding", most, tower.hidden);
    const ValueId mask = takes("attention_mask") ? builder_.additive_mask(given_.at("attention_mask")) : kNone;
    const ValueId x = encoded(ops::add(graph_, {words, positions}), mask, tower, at, true);
    const ValueId states = builder_.layer_norm(x, at + "final_layer_norm", tower.hidden, tower.epsilon);
    return {states, at_end(states, ids, config.size_or("eos_token_id", 49407))};
  }

  // States f32[B,S,hidden] of the first token that ends a text. Where the configuration names 2, as that of the first
  // models does wrongly, it is the largest id.
  ValueId at_end(ValueId states, ValueId ids, int64_t end) {
    constexpr int64_t kWrong = 2;
    const ValueId is_end = ops::equal(graph_, {ids, graph_.add_scalar(end)});
    const ValueId ranked = end == kWrong ? ids : ops::cast(graph_, {.x = is_end, .dtype = DType::i64});
    const ValueId place = ops::argmax(graph_, {.x = ranked, .axis = 1, .keepdims = 1});  // i64[B,1]
    const ValueId places = ops::iota(graph_, {.shape = Shape{Dim::symbol("S")}, .dtype = DType::i64});
    const ValueId here = ops::unsqueeze(graph_, {.x = ops::equal(graph_, {places, place}), .axes = Integers{2}});
    const ValueId only = ops::where(graph_, {.condition = here, .a = states, .b = graph_.add_scalar(0.0f)});
    return ops::reduce_sum(graph_, {.x = only, .axes = Integers{1}, .keepdims = 0});
  }

  Encoded images(const Tower& tower) {
    vision_config().check(kTowerSettings);
    const std::string at = prefix("vision_model.", "embeddings.class_embedding");
    const PatchGrid grid = vision_grid();
    const int64_t places = 1 + grid.side() * grid.side(), hidden = tower.hidden;
    const auto as_rows = [&](ValueId x, int64_t rows) {
      return ops::reshape(graph_, {.x = builder_.as_f32(x), .shape = Shape{1, rows, hidden}});
    };
    const ValueId first = builder_.weight(at + "embeddings.class_embedding", {hidden});
    const ValueId positions = builder_.weight(at + "embeddings.position_embedding.weight", {places, hidden});
    ValueId x = image_tokens(builder_, given_.at("pixel_values"), grid,
                             {.hidden = hidden,
                              .projection = at + "embeddings.patch_embedding",
                              .biased = false,
                              .first = {as_rows(first, 1)},
                              .positions = as_rows(positions, places)});
    x = builder_.layer_norm(x, at + "pre_layrnorm", hidden, tower.epsilon);  // so spelled
    const ValueId states = encoded(x, kNone, tower, at, false);
    const ValueId token = builder_.first_token(states);
    return {states, builder_.layer_norm(token, at + "post_layernorm", hidden, tower.epsilon)};
  }

  void text_outputs() {
    const Tower tower = text_tower();
    const Encoded text = texts(tower);
    if (architecture_.ends_with("WithProjection"))
      graph_.add_output(
          builder_.unbiased_linear(text.pooled, "text_projection", tower.hidden, tower.projected, "text_embeds"),
          "text_embeds");
    graph_.add_output(text.states, "last_hidden_state");
    if (!architecture_.ends_with("WithProjection")) graph_.add_output(text.pooled, "pooler_output");
  }

  void vision_outputs() {
    const Tower tower = vision_tower();
    const Encoded image = images(tower);
    if (architecture_.ends_with("WithProjection"))
      graph_.add_output(
          builder_.unbiased_linear(image.pooled, "visual_projection", tower.hidden, tower.projected, "image_embeds"),
          "image_embeds");
    graph_.add_output(image.states, "last_hidden_state");
    if (!architecture_.ends_with("WithProjection")) graph_.add_output(image.pooled, "pooler_output");
  }

  // Over the patches as they leave the last layer.
  void classify() {
    const Tower tower = vision_tower();
    const ValueId states = images(tower).states;
    const Dim tokens = graph_.type(states).shape[1];
    const ValueId patches =
        ops::slice(graph_, {.x = states, .starts = Shape{1}, .ends = Shape{tokens}, .axes = Integers{1}});
    const ValueId mean = ops::reduce_mean(graph_, {.x = patches, .axes = Integers{1}, .keepdims = 0});
    const int64_t classes = class_count(ModelConfig(request_));
    graph_.add_output(builder_.linear(mean, "classifier", tower.hidden, classes, "logits"), "logits");
  }

  ValueId embedding(ValueId pooled, const char* projection, int64_t hidden, const char* name) {
    const int64_t projected = ModelConfig(request_).size_or("projection_dim", kUsualProjection);
    return ops::l2_normalise(graph_, {builder_.unbiased_linear(pooled, projection, hidden, projected)}, name);
  }

  void embed() {
    ValueId text = kNone, image = kNone;
    if (takes("input_ids")) {
      const Tower tower = text_tower();
      text = embedding(texts(tower).pooled, "text_projection", tower.hidden, "text_embeds");
    }
    if (takes("pixel_values")) {
      const Tower tower = vision_tower();
      image = embedding(images(tower).pooled, "visual_projection", tower.hidden, "image_embeds");
    }
    if (text != kNone && image != kNone) similarities(text, image);
    if (text != kNone) graph_.add_output(text, "text_embeds");
    if (image != kNone) graph_.add_output(image, "image_embeds");
  }

  void similarities(ValueId text, ValueId image) {
    const ValueId scale = ops::exp(graph_, {builder_.as_f32(builder_.weight("logit_scale", {}))});
    const ValueId cosines = ops::matmul(graph_, {.a = image, .b = text, .transpose_b = 1});
    const ValueId per_image = ops::mul(graph_, {cosines, scale}, "logits_per_image");
    graph_.add_output(per_image, "logits_per_image");
    graph_.add_output(ops::transpose(graph_, {.x = per_image, .perm = Integers{1, 0}}, "logits_per_text"),
                      "logits_per_text");
  }

  const ModelRequest& request_;
  const std::string architecture_;
  const bool has_both_;
  const Json text_json_, vision_json_;
  const std::string text_source_, vision_source_;
  std::vector<std::string> inputs_;
  std::map<std::string, ValueId> given_;
  Graph graph_;
  TransformerBuilder builder_;
};

}  // namespace

extern constinit const ModelDef clip_model_def{
    .name = "clip",
    .doc = "CLIP: texts and images in one space, both towers or either, and classifiers of images.",
    .architectures =
        "CLIPModel CLIPTextModel CLIPTextModelWithProjection CLIPVisionModel "
        "CLIPVisionModelWithProjection CLIPForImageClassification",
    .build = [](const ModelRequest& request) { return ClipBuilder(request).build(); }};

}  // namespace hone
