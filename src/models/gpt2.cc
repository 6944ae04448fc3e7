// GPT-2: a decoder with learned positions, norms before each part, and weights that lie [inputs,outputs]. Radford et
// al., "Language Models are Unsupervised Multitask Learners" (2019).
#include <cmath>

#include "base/checked.h"
#include "models/decoder_inputs.h"
#include "models/decoder_layers.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/matmul.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"n_positions"},
                                 {"n_embd"},
                                 {"n_layer"},
                                 {"n_head"},
                                 {"n_inner"},
                                 {"activation_function"},
                                 {"layer_norm_epsilon"},
                                 {"scale_attn_weights"},
                                 {"scale_attn_by_inverse_layer_idx"},
                                 {"n_ctx"},                    // n_positions again, in older files
                                 {"reorder_and_upcast_attn"},  // of 16 bits
                                 {"resid_pdrop"},
                                 {"embd_pdrop"},
                                 {"attn_pdrop"},
                                 {"summary_type"},  // of a head that is not built
                                 {"summary_use_proj"},
                                 {"summary_activation"},
                                 {"summary_proj_to_labels"},
                                 {"summary_first_dropout"}};

struct Sizes {
  int64_t vocabulary, hidden, layers, heads, inner, context;
};

Sizes sizes_of(const ModelConfig& config) {
  config.check(kSettings);
  Sizes sizes{.vocabulary = config.size("vocab_size"),
              .hidden = config.size("n_embd"),
              .layers = config.layers("n_layer"),
              .heads = config.size("n_head"),
              .inner = 0,
              .context = config.size_or("n_positions", 1024)};
  columns_of_heads(config, {"n_embd", sizes.hidden}, {"n_head", sizes.heads});
  sizes.inner = config.size_or("n_inner", checked_mul(4, sizes.hidden));
  return sizes;
}

class Gpt2Builder {
 public:
  explicit Gpt2Builder(const ModelRequest& request)
      : config_(request),
        builder_(graph_, request),
        sizes_(sizes_of(config_)),
        epsilon_(config_.number_or("layer_norm_epsilon", 1e-5)) {}

  Graph build() {
    inputs_ = decoder_inputs(builder_, config_, "gpt2", sizes_.context, sizes_.vocabulary);
    const ValueId words = builder_.embedding(inputs_.ids, "transformer.wte", sizes_.vocabulary, sizes_.hidden);
    const ValueId places = builder_.embedding(inputs_.positions, "transformer.wpe", sizes_.context, sizes_.hidden);
    ValueId x = ops::add(graph_, {words, places}, "embedded");
    for (int64_t number = 0; number < sizes_.layers; ++number) x = layer(x, number);
    decoder_output(builder_, norm(x, "transformer.ln_f", "final"),
                   config_.flag("tie_word_embeddings", true) ? "transformer.wte.weight" : "lm_head.weight",
                   sizes_.vocabulary, sizes_.hidden);
    return std::move(graph_);
  }

 private:
  ValueId norm(ValueId x, const std::string& name, const std::string& result = "") {
    return builder_.layer_norm(x, name, sizes_.hidden, epsilon_, result);
  }

  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, const std::string& result = "") {
    const ValueId product = ops::matmul(graph_, {x, builder_.weight(name + ".weight", {inputs, outputs})});
    return ops::add(graph_, {product, builder_.as_f32(builder_.weight(name + ".bias", {outputs}))}, result);
  }

  double scale_of(int64_t number) const {
    const bool by_columns = config_.flag("scale_attn_weights", true);
    const double columns = static_cast<double>(sizes_.hidden / sizes_.heads);
    const double scale = by_columns ? 1 / std::sqrt(columns) : 1;
    return config_.flag("scale_attn_by_inverse_layer_idx") ? scale / static_cast<double>(number + 1) : scale;
  }

  ValueId attention(ValueId x, int64_t number, const std::string& at, const std::string& label) {
    const int64_t hidden = sizes_.hidden;
    const std::vector<ValueId> parts =
        parted(graph_, linear(x, at + "c_attn", hidden, checked_mul(3, hidden)), {hidden, hidden, hidden},
               {label + "_query", label + "_key", label + "_value"});
    const ValueId context = ops::attention(graph_,
                                           {.q = parts[0],
                                            .k = parts[1],
                                            .v = parts[2],
                                            .mask = inputs_.mask,
                                            .heads = sizes_.heads,
                                            .scale = scale_of(number),
                                            .causal = 1},
                                           label + "_context");
    return linear(context, at + "c_proj", hidden, hidden);
  }

  ValueId feed_forward(ValueId x, const std::string& at) {
    const ValueId up = linear(x, at + "c_fc", sizes_.hidden, sizes_.inner);
    const ValueId active = builder_.activation(up, config_.text_or("activation_function", "gelu_new"));
    return linear(active, at + "c_proj", sizes_.inner, sizes_.hidden);
  }

  ValueId layer(ValueId x, int64_t number) {
    const std::string at = fmt::format("transformer.h.{}.", number), label = fmt::format("layer{}", number);
    x = ops::add(graph_, {x, attention(norm(x, at + "ln_1"), number, at + "attn.", label)}, label + "_attended");
    return ops::add(graph_, {x, feed_forward(norm(x, at + "ln_2"), at + "mlp.")}, label + "_output");
  }

  const ModelConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  const Sizes sizes_;
  const double epsilon_;
  DecoderInputs inputs_;
};

}  // namespace

extern constinit const ModelDef gpt2_def{
    .name = "gpt2",
    .doc = "GPT-2: a decoder with learned positions.",
    .architectures = "GPT2LMHeadModel GPT2Model GPT2ForSequenceClassification",
    .build = [](const ModelRequest& request) { return Gpt2Builder(request).build(); }};

}  // namespace hone
