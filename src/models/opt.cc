// OPT: a decoder with learned positions that count the tokens of a row, norms before each part or behind it, and ReLU.
// Zhang et al., "OPT: Open Pre-trained Transformer Language Models" (2022).
#include "models/decoder_inputs.h"
#include "models/decoder_layers.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/normalisation.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"ffn_dim"},
                                 {"max_position_embeddings"},
                                 {"word_embed_proj_dim"},
                                 {"activation_function"},
                                 {"do_layer_norm_before"},
                                 {"_remove_final_layer_norm"},
                                 {"enable_bias"},
                                 {"layer_norm_elementwise_affine"},
                                 {"learned_embeddings", "true"},
                                 {"activation_dropout"},
                                 {"layerdrop"},
                                 {"init_std"}};

constexpr int64_t kFirstPosition = 2;  // rows of the table before it belong to no token
constexpr double kEpsilon = 1e-5;

class OptBuilder {
 public:
  explicit OptBuilder(const ModelRequest& request) : config_(request), builder_(graph_, request) {
    config_.check(kSettings);
    vocabulary_ = config_.size("vocab_size"), hidden_ = config_.size("hidden_size");
    heads_ = config_.size("num_attention_heads"), inner_ = config_.size("ffn_dim");
    columns_of_heads(config_, {"hidden_size", hidden_}, {"num_attention_heads", heads_});
    context_ = config_.size_or("max_position_embeddings", 2048);
    word_columns_ = config_.size_or("word_embed_proj_dim", hidden_);
    norms_before_ = config_.flag("do_layer_norm_before", true);
    has_bias_ = config_.flag("enable_bias", true);
    has_norm_weights_ = config_.flag("layer_norm_elementwise_affine", true);
  }

  Graph build() {
    inputs_ = decoder_inputs(builder_, config_, "opt", context_, vocabulary_);
    ValueId x = embedded();
    const int64_t layers = config_.layers("num_hidden_layers");
    for (int64_t number = 0; number < layers; ++number) x = layer(x, number);
    if (norms_before_ && !config_.flag("_remove_final_layer_norm")) x = norm(x, "model.decoder.final_layer_norm");
    if (word_columns_ != hidden_)
      x = builder_.unbiased_linear(x, "model.decoder.project_out", hidden_, word_columns_, "projected");
    decoder_output(builder_, x,
                   config_.flag("tie_word_embeddings", true) ? "model.decoder.embed_tokens.weight" : "lm_head.weight",
                   vocabulary_, word_columns_);
    return std::move(graph_);
  }

 private:
  ValueId embedded() {
    ValueId words = builder_.embedding(inputs_.ids, "model.decoder.embed_tokens", vocabulary_, word_columns_);
    if (word_columns_ != hidden_)
      words = builder_.unbiased_linear(words, "model.decoder.project_in", word_columns_, hidden_);
    const ValueId rows = ops::add(graph_, {inputs_.positions, graph_.add_scalar(kFirstPosition)});
    const ValueId places =
        builder_.embedding(rows, "model.decoder.embed_positions", context_ + kFirstPosition, hidden_);
    return ops::add(graph_, {words, places}, "embedded");
  }

  ValueId norm(ValueId x, const std::string& name, const std::string& result = "") {
    return has_norm_weights_ ? builder_.layer_norm(x, name, hidden_, kEpsilon, result)
                             : ops::layer_norm(graph_, {.x = x, .epsilon = kEpsilon}, result);
  }

  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, const std::string& result = "") {
    return has_bias_ ? builder_.linear(x, name, inputs, outputs, result)
                     : builder_.unbiased_linear(x, name, inputs, outputs, result);
  }

  ValueId attention(ValueId x, const std::string& at, const std::string& label) {
    const ValueId context = ops::attention(graph_,
                                           {.q = linear(x, at + "q_proj", hidden_, hidden_, label + "_query"),
                                            .k = linear(x, at + "k_proj", hidden_, hidden_, label + "_key"),
                                            .v = linear(x, at + "v_proj", hidden_, hidden_, label + "_value"),
                                            .mask = inputs_.mask,
                                            .heads = heads_,
                                            .causal = 1},
                                           label + "_context");
    return linear(context, at + "out_proj", hidden_, hidden_);
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const ValueId up = linear(x, at + "fc1", hidden_, inner_);
    return linear(builder_.activation(up, config_.text_or("activation_function", "relu")), at + "fc2", inner_, hidden_);
  }

  // x + part(norm(x)), or norm(x + part(x)).
  template <class Part>
  ValueId residual(ValueId x, const std::string& norm_name, const std::string& result, const Part& part) {
    if (norms_before_) return ops::add(graph_, {x, part(norm(x, norm_name))}, result);
    return norm(ops::add(graph_, {x, part(x)}), norm_name, result);
  }

  ValueId layer(ValueId x, int64_t number) {
    const std::string at = fmt::format("model.decoder.layers.{}.", number), label = fmt::format("layer{}", number);
    x = residual(x, at + "self_attn_layer_norm", label + "_attended",
                 [&](ValueId read) { return attention(read, at + "self_attn.", label); });
    return residual(x, at + "final_layer_norm", label + "_output",
                    [&](ValueId read) { return feed_forward(read, at); });
  }

  const ModelConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  int64_t vocabulary_ = 0, hidden_ = 0, heads_ = 0, inner_ = 0, context_ = 0, word_columns_ = 0;
  bool norms_before_ = true, has_bias_ = true, has_norm_weights_ = true;
  DecoderInputs inputs_;
};

}  // namespace

extern constinit const ModelDef opt_def{
    .name = "opt",
    .doc = "OPT: a decoder with learned positions and ReLU.",
    .architectures = "OPTForCausalLM OPTModel OPTForSequenceClassification",
    .build = [](const ModelRequest& request) { return OptBuilder(request).build(); }};

}  // namespace hone
