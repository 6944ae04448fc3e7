// GPT-NeoX and Pythia: a decoder whose attention and feed-forward layer both read the same x, and whose positions turn
// a part of each head. Black et al., "GPT-NeoX-20B: An Open-Source Autoregressive Language Model" (2022).
#include "base/checked.h"
#include "models/decoder_inputs.h"
#include "models/decoder_layers.h"
#include "models/rope_scaling.h"
#include "models/rotary.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},          {"hidden_size"},       {"num_hidden_layers"},
                                 {"num_attention_heads"}, {"intermediate_size"}, {"max_position_embeddings"},
                                 {"hidden_act"},          {"layer_norm_eps"},    {"use_parallel_residual"},
                                 {"attention_bias"},      {"rope_parameters"},   {"rope_scaling"},
                                 {"rotary_emb_base"},     {"rotary_pct"},        {"hidden_dropout"}};
constexpr RotaryKeys kRotary{.theta = "rotary_emb_base", .share = "rotary_pct", .default_share = 0.25};

class NeoxBuilder {
 public:
  explicit NeoxBuilder(const ModelRequest& request) : config_(request), builder_(graph_, request) {
    config_.check(kSettings);
    vocabulary_ = config_.size("vocab_size"), hidden_ = config_.size("hidden_size");
    heads_ = config_.size("num_attention_heads"), inner_ = config_.size("intermediate_size");
    columns_ = columns_of_heads(config_, {"hidden_size", hidden_}, {"num_attention_heads", heads_});
    epsilon_ = config_.number_or("layer_norm_eps", 1e-5);
    has_bias_ = config_.flag("attention_bias", true);
  }

  Graph build() {
    inputs_ =
        decoder_inputs(builder_, config_, "gpt_neox", config_.size_or("max_position_embeddings", 2048), vocabulary_);
    const RotaryAngles angles = rotary_angles(config_, columns_, 10000, kRotary);
    rotation_ = rotation(graph_, inputs_.positions, angles.frequencies, angles.factor);
    ValueId x = builder_.embedding(inputs_.ids, "gpt_neox.embed_in", vocabulary_, hidden_);
    const int64_t layers = config_.layers("num_hidden_layers");
    for (int64_t number = 0; number < layers; ++number) x = layer(x, number);
    decoder_output(builder_, norm(x, "gpt_neox.final_layer_norm", "final"), words(), vocabulary_, hidden_);
    return std::move(graph_);
  }

 private:
  ValueId norm(ValueId x, const std::string& name, const std::string& result = "") {
    return builder_.layer_norm(x, name, hidden_, epsilon_, result);
  }

  std::string words() const {
    if (config_.flag("tie_word_embeddings")) return "gpt_neox.embed_in.weight";
    return builder_.has_weight("lm_head.weight") ? "lm_head.weight" : "embed_out.weight";
  }

  ValueId linear(ValueId x, const std::string& name, int64_t outputs) {
    return has_bias_ ? builder_.linear(x, name, hidden_, outputs) : builder_.unbiased_linear(x, name, hidden_, outputs);
  }

  // The matrix gives query, key and value of a head before those of the next.
  ValueId attention(ValueId x, const std::string& at, const std::string& label) {
    const ValueId all = linear(x, at + "query_key_value", checked_mul(3, hidden_));
    const Shape shape = graph_.type(x).shape;
    const ValueId by_head = ops::reshape(graph_, {.x = all, .shape = Shape{shape[0], shape[1], heads_, 3 * columns_}});
    std::vector<ValueId> parts = parted(graph_, by_head, {columns_, columns_, columns_}, {"", "", ""});
    for (ValueId& part : parts) part = ops::reshape(graph_, {.x = part, .shape = shape});
    const ValueId context = ops::attention(graph_,
                                           {.q = rotated(graph_, parts[0], rotation_, heads_, label + "_query"),
                                            .k = rotated(graph_, parts[1], rotation_, heads_, label + "_key"),
                                            .v = parts[2],
                                            .mask = inputs_.mask,
                                            .heads = heads_,
                                            .causal = 1},
                                           label + "_context");
    return linear(context, at + "dense", hidden_);
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const ValueId up = builder_.linear(x, at + "dense_h_to_4h", hidden_, inner_);
    return builder_.linear(builder_.activation(up, config_.text_or("hidden_act", "gelu")), at + "dense_4h_to_h", inner_,
                           hidden_);
  }

  ValueId layer(ValueId x, int64_t number) {
    const std::string at = fmt::format("gpt_neox.layers.{}.", number), label = fmt::format("layer{}", number);
    const ValueId seen = attention(norm(x, at + "input_layernorm"), at + "attention.", label);
    const ValueId attended = ops::add(graph_, {x, seen}, label + "_attended");
    const ValueId read = config_.flag("use_parallel_residual", true) ? x : attended;
    const ValueId fed = feed_forward(norm(read, at + "post_attention_layernorm"), at + "mlp.");
    return ops::add(graph_, {attended, fed}, label + "_output");
  }

  const ModelConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  int64_t vocabulary_ = 0, hidden_ = 0, heads_ = 0, inner_ = 0, columns_ = 0;
  double epsilon_ = 0;
  bool has_bias_ = true;
  DecoderInputs inputs_;
  Rotation rotation_;
};

}  // namespace

extern constinit const ModelDef gpt_neox_def{
    .name = "gpt_neox",
    .doc = "GPT-NeoX and Pythia: decoders whose parts of a layer read the same.",
    .architectures = "GPTNeoXForCausalLM GPTNeoXModel GPTNeoXForSequenceClassification",
    .build = [](const ModelRequest& request) { return NeoxBuilder(request).build(); }};

}  // namespace hone
