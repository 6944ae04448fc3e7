// The encoder of T5, Flan-T5 and their like: norms without a mean before each part, no positions but what distances
// between tokens add to scores, and scores that are not scaled. Raffel et al., "Exploring the Limits of Transfer
// Learning with a Unified Text-to-Text Transformer" (2019).
#include "base/checked.h"
#include "base/error.h"
#include "models/distance_bias.h"
#include "models/text_encoder.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/normalisation.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"vocab_size"},
                                 {"d_model"},
                                 {"d_kv"},
                                 {"d_ff"},
                                 {"num_layers"},
                                 {"num_heads"},
                                 {"relative_attention_num_buckets"},
                                 {"relative_attention_max_distance"},
                                 {"layer_norm_epsilon"},
                                 {"feed_forward_proj"},
                                 // These follow from feed_forward_proj.
                                 {"dense_act_fn"},
                                 {"is_gated_act"},
                                 // Of the decoder and its words, and what no version reads.
                                 {"num_decoder_layers"},
                                 {"is_encoder_decoder"},
                                 {"scale_decoder_outputs"},
                                 {"dropout_rate"},
                                 {"n_positions"}};

TextSizes sizes_of(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  return {.vocabulary = config.size("vocab_size"),
          .hidden = config.size("d_model"),
          .layers = config.layers("num_layers"),
          .heads = config.size("num_heads"),
          .intermediate = config.size("d_ff"),
          .epsilon = config.number_or("layer_norm_epsilon", 1e-6),
          .activation = config.text_or("feed_forward_proj", "relu")};
}

class T5Builder : public TextEncoder {
 public:
  explicit T5Builder(const ModelRequest& request)
      : TextEncoder(request, "t5", sizes_of(request), {}),
        columns_(checked_mul(sizes().heads, config().size_or("d_kv", 64))) {}

 private:
  ValueId norm(ValueId x, const std::string& name, const std::string& result = "") {
    const ValueId scale = builder().as_f32(builder().weight(name + ".weight", {sizes().hidden}));
    return ops::rms_norm(graph(), {.x = x, .weight = scale, .epsilon = sizes().epsilon}, result);
  }

  ValueId embedded() override {
    const ValueId ids = input("input_ids");
    const int64_t buckets = config().size_or("relative_attention_num_buckets", 32),
                  farthest = config().size_or("relative_attention_max_distance", 128);
    require_buckets(config().source(), buckets, farthest);
    const ValueId bias = distance_bias(builder(), ids, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
                                       buckets, farthest, sizes().heads);
    scores_ = ops::add(graph(), {bias, added_mask()}, "distances_and_mask");
    return builder().embedding(ids, "shared", sizes().vocabulary, sizes().hidden);
  }

  ValueId attention(ValueId x, const std::string& at, const std::string& label) {
    const auto part = [&](const char* name, const char* result) {
      return builder().unbiased_linear(x, at + name, sizes().hidden, columns_, label + result);
    };
    const ValueId q = part("q", "_query"), k = part("k", "_key"), v = part("v", "_value");
    const ValueId context = ops::attention(
        graph(), {.q = q, .k = k, .v = v, .mask = scores_, .heads = sizes().heads, .scale = 1.0}, label + "_context");
    return builder().unbiased_linear(context, at + "o", columns_, sizes().hidden);
  }

  // "relu", or "gated-gelu": an activation of one product times another. That of gated-gelu is its tanh form.
  ValueId feed_forward(ValueId x, const std::string& at) {
    constexpr std::string_view kGated = "gated-";
    const int64_t hidden = sizes().hidden, width = sizes().intermediate;
    const std::string& kind = sizes().activation;
    ValueId active = kNone;
    if (kind.starts_with(kGated)) {
      const std::string name = kind.substr(kGated.size());
      const ValueId gate = builder().activation(builder().unbiased_linear(x, at + "wi_0", hidden, width),
                                                name == "gelu" ? "gelu_new" : name);
      active = ops::mul(graph(), {gate, builder().unbiased_linear(x, at + "wi_1", hidden, width)});
    } else {
      active = builder().activation(builder().unbiased_linear(x, at + "wi", hidden, width), kind);
    }
    return builder().unbiased_linear(active, at + "wo", width, hidden);
  }

  ValueId layer(ValueId x, int64_t number) override {
    const std::string at = fmt::format("encoder.block.{}.layer.", number), label = fmt::format("layer{}", number);
    const ValueId attended = attention(norm(x, at + "0.layer_norm"), at + "0.SelfAttention.", label);
    x = ops::add(graph(), {x, attended}, label + "_attended");
    return ops::add(graph(), {x, feed_forward(norm(x, at + "1.layer_norm"), at + "1.DenseReluDense.")},
                    label + "_output");
  }

  ValueId finished(ValueId x) override { return norm(x, "encoder.final_layer_norm", "final"); }

  const int64_t columns_;   // of all heads
  ValueId scores_ = kNone;  // f32[B,heads,S,S], to add to scores
};

}  // namespace

extern constinit const ModelDef t5_def{.name = "t5",
                                       .doc = "Encoders of T5 and Flan-T5.",
                                       .architectures = "T5EncoderModel",
                                       .build = [](const ModelRequest& request) { return T5Builder(request).build(); }};

}  // namespace hone
