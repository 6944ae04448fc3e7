// Phi-3, Phi-3.5 and Phi-4-mini: a decoder of Llama's shape whose queries, keys and values come from one matrix, and
// gate and value of the feed-forward layer from another. Abdin et al., "Phi-3 Technical Report" (2024).
#include "base/checked.h"
#include "models/decoder_inputs.h"
#include "models/decoder_layers.h"
#include "models/rope_scaling.h"
#include "models/rotary.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/normalisation.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"hidden_size"},
                                 {"intermediate_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"num_key_value_heads"},
                                 {"head_dim"},
                                 {"hidden_act"},
                                 {"max_position_embeddings"},
                                 {"original_max_position_embeddings"},
                                 {"rms_norm_eps"},
                                 {"rope_parameters"},
                                 {"rope_theta"},
                                 {"rope_scaling"},
                                 {"partial_rotary_factor"},
                                 {"sliding_window"},
                                 {"resid_pdrop"},
                                 {"embd_pdrop"},
                                 {"full_attn_mod", "1"},
                                 {"interpolate_factor", "1"}};
constexpr RotaryKeys kRotary{.share = "partial_rotary_factor", .takes_short = true};

class Phi3Builder {
 public:
  explicit Phi3Builder(const ModelRequest& request) : config_(request), builder_(graph_, request) {
    config_.check(kSettings);
    vocabulary_ = config_.size("vocab_size"), hidden_ = config_.size("hidden_size");
    inner_ = config_.size("intermediate_size");
    const bool is_given = config_.has("head_dim");
    const int64_t heads = config_.size("num_attention_heads");
    heads_ = head_sizes(
        config_, is_given ? 0 : columns_of_heads(config_, {"hidden_size", hidden_}, {"num_attention_heads", heads}));
    epsilon_ = config_.number_or("rms_norm_eps", 1e-5);
    if (config_.has("sliding_window")) reach_ = config_.size("sliding_window") - 1;
  }

  Graph build() {
    const RotaryAngles angles = rotary_angles(config_, heads_.columns, 10000, kRotary);
    const int64_t context = angles.context > 0 ? angles.context : config_.size("max_position_embeddings");
    inputs_ = decoder_inputs(builder_, config_, "phi3", context, vocabulary_);
    rotation_ = rotation(graph_, inputs_.positions, angles.frequencies, angles.factor);
    ValueId x = builder_.embedding(inputs_.ids, "model.embed_tokens", vocabulary_, hidden_);
    const int64_t layers = config_.layers("num_hidden_layers");
    for (int64_t number = 0; number < layers; ++number) x = layer(x, number);
    decoder_output(builder_, norm(x, "model.norm", "final"),
                   config_.flag("tie_word_embeddings") ? "model.embed_tokens.weight" : "lm_head.weight", vocabulary_,
                   hidden_);
    return std::move(graph_);
  }

 private:
  ValueId norm(ValueId x, const std::string& name, const std::string& result = "") {
    const ValueId scale = builder_.as_f32(builder_.weight(name + ".weight", {hidden_}));
    return ops::rms_norm(graph_, {.x = x, .weight = scale, .epsilon = epsilon_}, result);
  }

  ValueId attention(ValueId x, const std::string& at, const std::string& label) {
    const int64_t own = checked_mul(heads_.heads, heads_.columns),
                  shared = checked_mul(heads_.kv_heads, heads_.columns);
    const ValueId all = builder_.unbiased_linear(x, at + "qkv_proj", hidden_, checked_add(own, checked_mul(2, shared)));
    const std::vector<ValueId> parts = parted(graph_, all, {own, shared, shared}, {"", "", label + "_value"});
    const ValueId context = ops::attention(graph_,
                                           {.q = rotated(graph_, parts[0], rotation_, heads_.heads, label + "_query"),
                                            .k = rotated(graph_, parts[1], rotation_, heads_.kv_heads, label + "_key"),
                                            .v = parts[2],
                                            .mask = inputs_.mask,
                                            .heads = heads_.heads,
                                            .kv_heads = heads_.kv_heads,
                                            .causal = 1,
                                            .before = reach_},
                                           label + "_context");
    return builder_.unbiased_linear(context, at + "o_proj", own, hidden_);
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const ValueId both = builder_.unbiased_linear(x, at + "gate_up_proj", hidden_, checked_mul(2, inner_));
    const std::vector<ValueId> parts = parted(graph_, both, {inner_, inner_}, {"", ""});
    const ValueId gate = builder_.activation(parts[0], config_.text_or("hidden_act", "silu"));
    return builder_.unbiased_linear(ops::mul(graph_, {gate, parts[1]}), at + "down_proj", inner_, hidden_);
  }

  ValueId layer(ValueId x, int64_t number) {
    const std::string at = fmt::format("model.layers.{}.", number), label = fmt::format("layer{}", number);
    const ValueId read = norm(x, at + "input_layernorm");
    x = ops::add(graph_, {x, attention(read, at + "self_attn.", label)}, label + "_attended");
    const ValueId attended = norm(x, at + "post_attention_layernorm");
    return ops::add(graph_, {x, feed_forward(attended, at + "mlp.")}, label + "_output");
  }

  const ModelConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  int64_t vocabulary_ = 0, hidden_ = 0, inner_ = 0;
  HeadSizes heads_{};
  double epsilon_ = 0;
  std::optional<int64_t> reach_;  // keys before its own that a query sees; none: all
  DecoderInputs inputs_;
  Rotation rotation_;
};

}  // namespace

extern constinit const ModelDef phi3_def{
    .name = "phi3",
    .doc = "Phi-3, Phi-3.5 and Phi-4-mini: decoders with fused matrices.",
    .architectures = "Phi3ForCausalLM Phi3Model Phi3ForSequenceClassification",
    .build = [](const ModelRequest& request) { return Phi3Builder(request).build(); }};

}  // namespace hone
