// Gemma 2 and Gemma 3 of texts: decoders with norms on both sides of each part, scaled embeddings, and windows in some
// layers. Gemma 2 caps scores and logits; Gemma 3 norms queries and keys, and turns them by another base in layers with
// a window. Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size" (2024); "Gemma 3 Technical
// Report" (2025).
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "models/decoder_inputs.h"
#include "models/decoder_layers.h"
#include "models/rope_scaling.h"
#include "models/rotary.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr Setting kShared[] = {{"vocab_size"},
                               {"hidden_size"},
                               {"intermediate_size"},
                               {"num_hidden_layers"},
                               {"num_attention_heads"},
                               {"num_key_value_heads"},
                               {"head_dim"},
                               {"hidden_activation"},
                               {"hidden_act"},  // hidden_activation is what the code reads
                               {"max_position_embeddings"},
                               {"rms_norm_eps"},
                               {"rope_parameters"},
                               {"rope_theta"},
                               {"rope_scaling"},
                               {"attention_bias"},
                               {"query_pre_attn_scalar"},
                               {"sliding_window"},
                               {"layer_types"},
                               {"final_logit_softcapping"},
                               {"cache_implementation"},
                               {"norms_hold_scales"}};                                // of GGUF files
constexpr Setting kGemma2[] = {{"attn_logit_softcapping"}, {"sliding_window_size"}};  // the latter is never read
constexpr Setting kGemma3[] = {{"rope_local_base_freq"}, {"sliding_window_pattern"}, {"_sliding_window_pattern"}};

constexpr RotaryKeys kGlobal{.layers = "full_attention"};
constexpr RotaryKeys kLocal{.theta = "rope_local_base_freq", .scaling = nullptr, .layers = "sliding_attention"};

// A cap that the configuration may say: a missing key is `fallback`, null is none.
std::optional<double> cap_of(const ModelConfig& config, const char* key, std::optional<double> fallback) {
  if (!config.json().contains(key)) return fallback;
  if (!config.has(key)) return std::nullopt;
  const double cap = config.number_or(key, 0);
  if (!(cap > 0) || std::isinf(cap))
    fail("{}: key \"{}\" is {}; accepted: null, or a number above 0", config.source(), key, cap);
  return cap;
}

class GemmaBuilder {
 public:
  explicit GemmaBuilder(const ModelRequest& request)
      : is_third_(third(request)), config_(request), builder_(graph_, request) {
    std::vector<Setting> settings(std::begin(kShared), std::end(kShared));
    const std::span<const Setting> own = is_third_ ? std::span<const Setting>(kGemma3) : kGemma2;
    settings.insert(settings.end(), own.begin(), own.end());
    config_.check(settings);
    vocabulary_ = config_.size("vocab_size"), hidden_ = config_.size("hidden_size");
    inner_ = config_.size("intermediate_size"), layers_ = config_.layers("num_hidden_layers");
    heads_ = head_sizes(config_, 256);
    epsilon_ = config_.number_or("rms_norm_eps", 1e-6);
    scale_ = 1 / std::sqrt(static_cast<double>(config_.size_or("query_pre_attn_scalar", 256)));
    if (!is_third_) score_cap_ = cap_of(config_, "attn_logit_softcapping", 50);
    logit_cap_ = cap_of(config_, "final_logit_softcapping", is_third_ ? std::nullopt : std::optional<double>(30));
    windows_ = windows();
  }

  Graph build() {
    inputs_ = decoder_inputs(builder_, config_, is_third_ ? "gemma3" : "gemma2",
                             config_.size("max_position_embeddings"), vocabulary_);
    global_ = turned_by(is_third_ ? rotary_angles(config_, heads_.columns, 1e6, kGlobal)
                                  : rotary_angles(config_, heads_.columns, 1e4));
    local_ = is_third_ ? turned_by(rotary_angles(config_, heads_.columns, 1e4, kLocal)) : global_;
    ValueId x = embedded();
    for (int64_t number = 0; number < layers_; ++number) x = layer(x, number);
    decoder_output(builder_, norm(x, "model.norm", hidden_, "final"),
                   config_.flag("tie_word_embeddings", true) ? "model.embed_tokens.weight" : "lm_head.weight",
                   vocabulary_, hidden_, logit_cap_);
    return std::move(graph_);
  }

 private:
  static bool third(const ModelRequest& request) {
    const auto names = json_get<std::vector<std::string>>(request.config, "architectures", request.source);
    return !names.empty() && names[0].starts_with("Gemma3");
  }

  // Which layers have one: without layer_types, every second of Gemma 2's, and all but every sixth of Gemma 3's.
  std::vector<bool> windows() const {
    if (auto given = windows_by_type(config_, layers_)) return *std::move(given);
    const char* key = config_.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
    const int64_t every = is_third_ ? config_.size_or(key, 6) : 2;
    std::vector<bool> all;
    for (int64_t number = 1; number <= layers_; ++number) all.push_back(number % every != 0);
    return all;
  }

  Rotation turned_by(const RotaryAngles& angles) {
    return rotation(graph_, inputs_.positions, angles.frequencies, angles.factor);
  }

  // The factor is rounded as the table is: models of 16 bits were trained with it.
  ValueId embedded() {
    const ValueId words = builder_.embedding(inputs_.ids, "model.embed_tokens", vocabulary_, hidden_);
    const DType stored = graph_.type(builder_.weight("model.embed_tokens.weight", {vocabulary_, hidden_})).dtype;
    const Tensor factor = Tensor::from_doubles(stored, {}, std::vector{std::sqrt(static_cast<double>(hidden_))});
    return ops::mul(graph_, {words, graph_.add_constant("", factor.converted(DType::f32))}, "embedded");
  }

  // Folders hold what is added to 1.
  ValueId norm(ValueId x, const std::string& name, int64_t columns, const std::string& result = "") {
    const ValueId stored = builder_.as_f32(builder_.weight(name + ".weight", {columns}));
    const bool is_whole = config_.flag("norms_hold_scales");
    const ValueId scale = is_whole ? stored : ops::add(graph_, {stored, graph_.add_scalar(1.0f)});
    return ops::rms_norm(graph_, {.x = x, .weight = scale, .epsilon = epsilon_}, result);
  }

  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, const std::string& result = "") {
    return config_.flag("attention_bias") ? builder_.linear(x, name, inputs, outputs, result)
                                          : builder_.unbiased_linear(x, name, inputs, outputs, result);
  }

  // Queries or keys f32[B,S,heads·columns], normed and turned.
  ValueId placed(ValueId x, const std::string& norm_name, int64_t heads, const Rotation& by,
                 const std::string& result) {
    if (is_third_) {
      const Shape shape = graph_.type(x).shape;
      const ValueId split = ops::reshape(graph_, {.x = x, .shape = Shape{shape[0], shape[1], heads, heads_.columns}});
      x = ops::reshape(graph_, {.x = norm(split, norm_name, heads_.columns), .shape = shape});
    }
    return rotated(graph_, x, by, heads, result);
  }

  ValueId attention(ValueId x, int64_t number, const std::string& at, const std::string& label) {
    const bool has_window = windows_[static_cast<size_t>(number)];
    const Rotation& by = has_window ? local_ : global_;
    const int64_t own = checked_mul(heads_.heads, heads_.columns),
                  shared = checked_mul(heads_.kv_heads, heads_.columns);
    const ValueId q = linear(x, at + "q_proj", hidden_, own), k = linear(x, at + "k_proj", hidden_, shared);
    const ValueId context = ops::attention(
        graph_,
        {.q = placed(q, at + "q_norm", heads_.heads, by, label + "_query"),
         .k = placed(k, at + "k_norm", heads_.kv_heads, by, label + "_key"),
         .v = linear(x, at + "v_proj", hidden_, shared, label + "_value"),
         .mask = inputs_.mask,
         .heads = heads_.heads,
         .kv_heads = heads_.kv_heads,
         .scale = scale_,
         .causal = 1,
         .before = has_window ? std::optional(config_.size_or("sliding_window", 4096) - 1) : std::nullopt,
         .softcap = score_cap_},
        label + "_context");
    return linear(context, at + "o_proj", own, hidden_);
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const ValueId gate = builder_.activation(builder_.unbiased_linear(x, at + "gate_proj", hidden_, inner_),
                                             config_.text_or("hidden_activation", "gelu_pytorch_tanh"));
    const ValueId up = builder_.unbiased_linear(x, at + "up_proj", hidden_, inner_);
    return builder_.unbiased_linear(ops::mul(graph_, {gate, up}), at + "down_proj", inner_, hidden_);
  }

  ValueId layer(ValueId x, int64_t number) {
    const std::string at = fmt::format("model.layers.{}.", number), label = fmt::format("layer{}", number);
    const ValueId seen = attention(norm(x, at + "input_layernorm", hidden_), number, at + "self_attn.", label);
    x = ops::add(graph_, {x, norm(seen, at + "post_attention_layernorm", hidden_)}, label + "_attended");
    const ValueId fed = feed_forward(norm(x, at + "pre_feedforward_layernorm", hidden_), at + "mlp.");
    return ops::add(graph_, {x, norm(fed, at + "post_feedforward_layernorm", hidden_)}, label + "_output");
  }

  const bool is_third_;
  const ModelConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  int64_t vocabulary_ = 0, hidden_ = 0, inner_ = 0, layers_ = 0;
  HeadSizes heads_{};
  double epsilon_ = 0, scale_ = 0;
  std::optional<double> score_cap_, logit_cap_;
  std::vector<bool> windows_;  // of layers
  DecoderInputs inputs_;
  Rotation global_, local_;  // of layers without and with a window
};

}  // namespace

extern constinit const ModelDef gemma_def{
    .name = "gemma",
    .doc = "Gemma 2 and Gemma 3 of texts: decoders with norms on both sides of their parts.",
    .architectures =
        "Gemma2ForCausalLM Gemma2Model Gemma2ForSequenceClassification Gemma3ForCausalLM Gemma3TextModel "
        "Gemma3TextForSequenceClassification",
    .build = [](const ModelRequest& request) { return GemmaBuilder(request).build(); }};

}  // namespace hone
