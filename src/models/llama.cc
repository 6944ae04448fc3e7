// Llama and the decoders of its shape: norms without a mean before each part, rotary positions, heads that share keys
// and values, and gated feed-forward layers. Touvron et al., "Llama 2: Open Foundation and Fine-Tuned Chat Models"
// (2023). Mistral adds windows, Qwen2 biases, Qwen3 norms of queries and keys, SmolLM3 layers without positions.
#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "models/decoder_inputs.h"
#include "models/decoder_layers.h"
#include "models/rope_scaling.h"
#include "models/rotary.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/linear.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr Setting kShared[] = {{"vocab_size"},          {"hidden_size"},
                               {"num_hidden_layers"},   {"num_attention_heads"},
                               {"num_key_value_heads"}, {"head_dim"},
                               {"intermediate_size"},   {"max_position_embeddings"},
                               {"rms_norm_eps"},        {"hidden_act"},
                               {"rope_parameters"},     {"rope_theta"},
                               {"rope_scaling"},        {"rope_interleaved", "false"},
                               {"pretraining_tp"},      {"is_llama_config"}};
constexpr Setting kLlama[] = {{"attention_bias"}, {"mlp_bias"}};
constexpr Setting kMistral[] = {{"sliding_window"}};
constexpr Setting kQwen2[] = {{"use_sliding_window"}, {"sliding_window"}, {"max_window_layers"}, {"layer_types"}};
constexpr Setting kQwen3[] = {
    {"attention_bias"}, {"use_sliding_window"}, {"sliding_window"}, {"max_window_layers"}, {"layer_types"}};
constexpr Setting kSmolLm3[] = {{"attention_bias"},         {"mlp_bias"},         {"use_sliding_window"},
                                {"sliding_window"},         {"layer_types"},      {"no_rope_layers"},
                                {"no_rope_layer_interval"}, {"max_window_layers"}};

// A family, and where it differs from Llama. What its configuration leaves out is as its own code has it.
struct Kind {
  const char* name;    // also the model_type
  const char* prefix;  // of architectures
  std::span<const Setting> settings;
  double theta = 10000;
  bool is_tied = false;
  bool has_input_biases = false;  // of queries, keys and values
  bool norms_heads = false;       // queries and keys, each head
  bool has_windows = false;       // in all layers
  bool skips_positions = false;   // in some layers
};
constexpr Kind kKinds[] = {{.name = "llama", .prefix = "Llama", .settings = kLlama},
                           {.name = "mistral", .prefix = "Mistral", .settings = kMistral, .has_windows = true},
                           {.name = "qwen2", .prefix = "Qwen2", .settings = kQwen2, .has_input_biases = true},
                           {.name = "qwen3", .prefix = "Qwen3", .settings = kQwen3, .norms_heads = true},
                           {.name = "smollm3",
                            .prefix = "SmolLM3",
                            .settings = kSmolLm3,
                            .theta = 2000000,
                            .is_tied = true,
                            .skips_positions = true}};

const Kind& kind_of(const ModelRequest& request) {
  const auto names = json_get<std::vector<std::string>>(request.config, "architectures", request.source);
  for (const Kind& kind : kKinds)
    if (!names.empty() && names[0].starts_with(kind.prefix)) return kind;
  throw Bug(fmt::format("{} is none of Llama's kinds", json_excerpt(request.config.at("architectures"))));
}

struct Sizes {
  int64_t vocabulary, hidden, layers, heads, kv_heads, columns, intermediate, context;  // columns: of a head
};

// null is one for each head; a missing key is that in Llama alone.
int64_t kv_heads_of(const ModelConfig& config, const Kind& kind, int64_t heads) {
  const bool is_null = config.json().contains("num_key_value_heads") && !config.has("num_key_value_heads");
  if (is_null || std::string_view(kind.name) == "llama") return config.size_or("num_key_value_heads", heads);
  return config.size("num_key_value_heads");
}

Sizes sizes_of(const ModelConfig& config, const Kind& kind) {
  Sizes sizes{.vocabulary = config.size("vocab_size"),
              .hidden = config.size("hidden_size"),
              .layers = config.layers("num_hidden_layers"),
              .heads = config.size("num_attention_heads"),
              .kv_heads = 0,
              .columns = 0,
              .intermediate = config.size("intermediate_size"),
              .context = config.size("max_position_embeddings")};
  sizes.kv_heads = kv_heads_of(config, kind, sizes.heads);
  if (sizes.heads % sizes.kv_heads != 0)
    fail("{}: num_attention_heads {} is not a multiple of num_key_value_heads {}", config.source(), sizes.heads,
         sizes.kv_heads);
  if (!config.has("head_dim") && sizes.hidden % sizes.heads != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {}, and head_dim is not given", config.source(),
         sizes.hidden, sizes.heads);
  sizes.columns =
      kind.norms_heads ? config.size_or("head_dim", 128) : config.size_or("head_dim", sizes.hidden / sizes.heads);
  return sizes;
}

std::vector<Setting> settings_of(const Kind& kind) {
  std::vector<Setting> all(std::begin(kShared), std::end(kShared));
  all.insert(all.end(), kind.settings.begin(), kind.settings.end());
  return all;
}

// Which layers have a window: all of Mistral's; of the others those that layer_types names, or from max_window_layers
// on, where use_sliding_window says that there are any.
std::vector<bool> windows_of(const ModelConfig& config, const Kind& kind, int64_t layers) {
  const auto count = static_cast<size_t>(layers);
  if (kind.has_windows) return std::vector<bool>(count, true);
  const bool used = config.flag("use_sliding_window");
  std::vector<bool> windows(count, false);
  if (!config.has("layer_types")) {
    if (used && kind.skips_positions)
      fail("{}: use_sliding_window is true; layer_types must say which layers have a window", config.source());
    const int64_t first = config.has("max_window_layers") ? config.size_unless_none("max_window_layers", 0) : 28;
    for (int64_t i = first; used && i < layers; ++i) windows[static_cast<size_t>(i)] = true;
    return windows;
  }
  windows = *windows_by_type(config, layers);
  if (!used && std::ranges::find(windows, true) != windows.end())
    fail("{}: layer_types has \"sliding_attention\", but use_sliding_window is not true", config.source());
  return windows;
}

// Keys before its own that a query sees in layers with a window; none: all of them.
std::optional<int64_t> reach_of(const ModelConfig& config) {
  if (config.has("sliding_window")) return config.size("sliding_window") - 1;
  if (config.json().contains("sliding_window")) return std::nullopt;
  return 4095;
}

// Which layers have positions: in no_rope_layers 1 stands for them; else all but every fourth.
std::vector<bool> positions_of(const ModelConfig& config, const Kind& kind, int64_t layers) {
  const auto count = static_cast<size_t>(layers);
  std::vector<bool> turned(count, true);
  if (!kind.skips_positions) return turned;
  if (config.has("no_rope_layers")) {
    const auto list = json_get<std::vector<int64_t>>(config.json(), "no_rope_layers", config.source());
    if (list.size() != count)
      fail("{}: no_rope_layers has {} entries for {} layers (num_hidden_layers)", config.source(), list.size(), layers);
    for (size_t i = 0; i < count; ++i) turned[i] = list[i] != 0;
    return turned;
  }
  const auto every = static_cast<size_t>(config.size_or("no_rope_layer_interval", 4));
  for (size_t i = 0; i < count; ++i) turned[i] = (i + 1) % every != 0;
  return turned;
}

class LlamaBuilder {
 public:
  explicit LlamaBuilder(const ModelRequest& request)
      : kind_(kind_of(request)), config_(request), builder_(graph_, request) {
    config_.check(settings_of(kind_));
    sizes_ = sizes_of(config_, kind_);
    epsilon_ = config_.number_or("rms_norm_eps", 1e-6);
    windows_ = windows_of(config_, kind_, sizes_.layers);
    turned_ = positions_of(config_, kind_, sizes_.layers);
  }

  Graph build() {
    inputs_ = decoder_inputs(builder_, config_, kind_.name, sizes_.context, sizes_.vocabulary);
    const RotaryAngles angles = rotary_angles(config_, sizes_.columns, kind_.theta);
    rotation_ = rotation(graph_, inputs_.positions, angles.frequencies, angles.factor);
    ValueId x = builder_.embedding(inputs_.ids, "model.embed_tokens", sizes_.vocabulary, sizes_.hidden);
    for (int64_t number = 0; number < sizes_.layers; ++number) x = layer(x, number);
    const bool tied = config_.flag("tie_word_embeddings", kind_.is_tied);
    decoder_output(builder_, norm(x, "model.norm", sizes_.hidden, "final"),
                   tied ? "model.embed_tokens.weight" : "lm_head.weight", sizes_.vocabulary, sizes_.hidden);
    return std::move(graph_);
  }

 private:
  ValueId norm(ValueId x, const std::string& name, int64_t columns, const std::string& result = "") {
    const ValueId scale = builder_.as_f32(builder_.weight(name + ".weight", {columns}));
    return ops::rms_norm(graph_, {.x = x, .weight = scale, .epsilon = epsilon_}, result);
  }

  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, bool bias,
                 const std::string& result = "") {
    return bias ? builder_.linear(x, name, inputs, outputs, result)
                : builder_.unbiased_linear(x, name, inputs, outputs, result);
  }

  // Queries or keys f32[B,S,heads·columns] of a layer, normed and turned.
  ValueId placed(ValueId x, const std::string& norm_name, int64_t heads, int64_t number, const std::string& result) {
    if (kind_.norms_heads) {
      const Shape shape = graph_.type(x).shape;
      const ValueId split = ops::reshape(graph_, {.x = x, .shape = Shape{shape[0], shape[1], heads, sizes_.columns}});
      x = ops::reshape(graph_, {.x = norm(split, norm_name, sizes_.columns), .shape = shape});
    }
    return turned_[static_cast<size_t>(number)] ? rotated(graph_, x, rotation_, heads, result) : x;
  }

  ValueId attention(ValueId x, int64_t number, const std::string& at, const std::string& label) {
    const bool bias = config_.flag("attention_bias"), input_bias = bias || kind_.has_input_biases;
    const int64_t hidden = sizes_.hidden, own = checked_mul(sizes_.heads, sizes_.columns),
                  shared = checked_mul(sizes_.kv_heads, sizes_.columns);
    const ValueId q = linear(x, at + "q_proj", hidden, own, input_bias),
                  k = linear(x, at + "k_proj", hidden, shared, input_bias),
                  v = linear(x, at + "v_proj", hidden, shared, input_bias, label + "_value");
    const ValueId context =
        ops::attention(graph_,
                       {.q = placed(q, at + "q_norm", sizes_.heads, number, label + "_query"),
                        .k = placed(k, at + "k_norm", sizes_.kv_heads, number, label + "_key"),
                        .v = v,
                        .mask = inputs_.mask,
                        .heads = sizes_.heads,
                        .kv_heads = sizes_.kv_heads,
                        .causal = 1,
                        .before = windows_[static_cast<size_t>(number)] ? reach_of(config_) : std::nullopt},
                       label + "_context");
    return linear(context, at + "o_proj", own, hidden, bias);
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const bool bias = config_.flag("mlp_bias");
    const int64_t hidden = sizes_.hidden, width = sizes_.intermediate;
    const ValueId gate =
        builder_.activation(linear(x, at + "gate_proj", hidden, width, bias), config_.text_or("hidden_act", "silu"));
    const ValueId gated = ops::mul(graph_, {gate, linear(x, at + "up_proj", hidden, width, bias)});
    return linear(gated, at + "down_proj", width, hidden, bias);
  }

  ValueId layer(ValueId x, int64_t number) {
    const std::string at = fmt::format("model.layers.{}.", number), label = fmt::format("layer{}", number);
    const ValueId read = norm(x, at + "input_layernorm", sizes_.hidden);
    x = ops::add(graph_, {x, attention(read, number, at + "self_attn.", label)}, label + "_attended");
    const ValueId attended = norm(x, at + "post_attention_layernorm", sizes_.hidden);
    return ops::add(graph_, {x, feed_forward(attended, at + "mlp.")}, label + "_output");
  }

  const Kind& kind_;
  const ModelConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  Sizes sizes_{};
  double epsilon_ = 0;
  std::vector<bool> windows_, turned_;  // of layers
  DecoderInputs inputs_;
  Rotation rotation_;
};

}  // namespace

extern constinit const ModelDef llama_def{
    .name = "llama",
    .doc = "Llama 2 and 3, SmolLM2, SmolLM3, Mistral, Qwen2 and Qwen3: decoders.",
    .architectures =
        "LlamaForCausalLM LlamaModel LlamaForSequenceClassification MistralForCausalLM MistralModel "
        "MistralForSequenceClassification Qwen2ForCausalLM Qwen2Model Qwen2ForSequenceClassification Qwen3ForCausalLM "
        "Qwen3Model Qwen3ForSequenceClassification SmolLM3ForCausalLM SmolLM3Model SmolLM3ForSequenceClassification",
    .build = [](const ModelRequest& request) { return LlamaBuilder(request).build(); }};

}  // namespace hone
