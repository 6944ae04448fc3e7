// wav2vec 2.0: convolutions over the waveform, a convolution for positions, and a transformer, with heads for speech
// (CTC), sounds and frames, and Hugging Face's names. Rows are sounds of one length, without a mask. Baevski et al.,
// "wav2vec 2.0: A framework for self-supervised learning of speech representations" (2020).
#include "base/error.h"
#include "models/classifier.h"
#include "models/config.h"
#include "models/pre_norm_block.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transcendental.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

constexpr Setting kSettings[] = {{"hidden_size"},
                                 {"num_hidden_layers"},
                                 {"num_attention_heads"},
                                 {"intermediate_size"},
                                 {"hidden_act"},
                                 {"layer_norm_eps"},
                                 {"vocab_size"},
                                 {"feat_extract_norm"},
                                 {"feat_extract_activation"},
                                 {"num_feat_extract_layers"},
                                 {"conv_dim"},
                                 {"conv_stride"},
                                 {"conv_kernel"},
                                 {"conv_bias"},
                                 {"num_conv_pos_embeddings"},
                                 {"num_conv_pos_embedding_groups"},
                                 {"do_stable_layer_norm"},
                                 {"classifier_proj_size"},
                                 {"use_weighted_layer_sum", "false"},
                                 // Of adapters, which are not built.
                                 {"add_adapter", "false"},
                                 {"adapter_kernel_size"},
                                 {"adapter_stride"},
                                 {"num_adapter_layers"},
                                 {"output_hidden_size"},
                                 // Of other heads.
                                 {"tdnn_dim"},
                                 {"tdnn_kernel"},
                                 {"tdnn_dilation"},
                                 {"xvector_output_dim"},
                                 // Of training.
                                 {"hidden_dropout"},
                                 {"activation_dropout"},
                                 {"feat_extract_dropout"},
                                 {"feat_proj_dropout"},
                                 {"feat_quantizer_dropout"},
                                 {"final_dropout"},
                                 {"layerdrop"},
                                 {"apply_spec_augment"},
                                 {"mask_time_prob"},
                                 {"mask_time_length"},
                                 {"mask_time_min_masks"},
                                 {"mask_time_other"},
                                 {"mask_time_selection"},
                                 {"mask_channel_length"},
                                 {"mask_channel_min_space"},
                                 {"mask_channel_other"},
                                 {"mask_channel_prob"},
                                 {"mask_channel_selection"},
                                 {"mask_feature_prob"},
                                 {"mask_feature_length"},
                                 {"mask_feature_min_masks"},
                                 {"num_codevectors_per_group"},
                                 {"num_codevector_groups"},
                                 {"codevector_dim"},
                                 {"proj_codevector_dim"},
                                 {"contrastive_logits_temperature"},
                                 {"num_negatives"},
                                 {"diversity_loss_weight"},
                                 {"ctc_loss_reduction"},
                                 {"ctc_zero_infinity"}};
constexpr double kConvolutionEpsilon = 1e-5;  // of norms between the convolutions

struct Wav2Vec2Config {
  int64_t hidden, layers, heads, intermediate;
  double epsilon;
  std::string activation, convolution_activation;
  Integers widths, strides, kernels;
  int64_t position_kernel, position_groups;
  bool convolution_bias, norms_all, stable;
};

Wav2Vec2Config read_config(const ModelConfig& config) {
  config.check(kSettings);
  const std::string norm = config.text_or("feat_extract_norm", "group");
  if (norm != "group" && norm != "layer")
    fail("{}: key \"feat_extract_norm\" is \"{}\"; accepted: group, layer", config.source(), norm);
  Wav2Vec2Config w{.hidden = config.size("hidden_size"),
                   .layers = config.layers("num_hidden_layers"),
                   .heads = config.size("num_attention_heads"),
                   .intermediate = config.size("intermediate_size"),
                   .epsilon = config.number_or("layer_norm_eps", 1e-5),
                   .activation = config.text_or("hidden_act", "gelu"),
                   .convolution_activation = config.text_or("feat_extract_activation", "gelu"),
                   .widths = config.sizes("conv_dim"),
                   .strides = config.sizes("conv_stride"),
                   .kernels = config.sizes("conv_kernel"),
                   .position_kernel = config.size_or("num_conv_pos_embeddings", 128),
                   .position_groups = config.size_or("num_conv_pos_embedding_groups", 16),
                   .convolution_bias = config.flag("conv_bias"),
                   .norms_all = norm == "layer",
                   .stable = config.flag("do_stable_layer_norm")};
  if (w.widths.size() != w.strides.size() || w.widths.size() != w.kernels.size())
    fail("{}: {} conv_dim, {} conv_stride and {} conv_kernel; expected one of each per convolution", config.source(),
         w.widths.size(), w.strides.size(), w.kernels.size());
  if (w.hidden % w.heads != 0 || w.hidden % w.position_groups != 0)
    fail("{}: hidden_size {} is not a multiple of num_attention_heads {} and of num_conv_pos_embedding_groups {}",
         config.source(), w.hidden, w.heads, w.position_groups);
  return w;
}

class Wav2Vec2Builder {
 public:
  explicit Wav2Vec2Builder(const ModelRequest& request)
      : keys_(request),
        config_(read_config(keys_)),
        architecture_(json_get<std::vector<std::string>>(request.config, "architectures", request.source).at(0)),
        builder_(graph_, request) {
    graph_.name = "wav2vec2";
    graph_.metadata["family"] = "wav2vec2";
  }

  Graph build() {
    const ValueId waves = builder_.only_input("input_values", {Dim::symbol("B"), Dim::symbol("T")});
    ValueId x = rows(features(waves));
    x = builder_.layer_norm(x, "feature_projection.layer_norm", config_.widths.back(), config_.epsilon);
    x = builder_.linear(x, "feature_projection.projection", config_.widths.back(), config_.hidden);
    x = ops::add(graph_, {x, positions(x)});
    if (!config_.stable) x = norm(x);
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = encoded(x, layer);
    if (config_.stable) x = norm(x);
    outputs(x);
    return std::move(graph_);
  }

 private:
  ValueId rows(ValueId x) { return ops::transpose(graph_, {.x = x, .perm = Integers{0, 2, 1}}); }
  ValueId norm(ValueId x) { return builder_.layer_norm(x, "encoder.layer_norm", config_.hidden, config_.epsilon); }

  // f32[B,T] → f32[B,channels,frames]
  ValueId features(ValueId waves) {
    ValueId x = ops::unsqueeze(graph_, {.x = waves, .axes = Integers{1}});
    int64_t channels = 1;
    for (size_t i = 0; i < config_.widths.size(); ++i) {
      const std::string at = fmt::format("feature_extractor.conv_layers.{}.", i);
      const int64_t width = config_.widths[i];
      const ValueId w = builder_.weight(at + "conv.weight", {width, channels, config_.kernels[i]});
      const ValueId b = config_.convolution_bias ? builder_.weight(at + "conv.bias", {width}) : kNone;
      x = ops::conv(graph_, {.x = x, .w = w, .b = b, .strides = Integers{config_.strides[i]}});
      if (config_.norms_all) x = rows(builder_.layer_norm(rows(x), at + "layer_norm", width, kConvolutionEpsilon));
      else if (i == 0) x = normed_over_time(x, at + "layer_norm", width);
      x = builder_.activation(x, config_.convolution_activation);
      channels = width;
    }
    return x;
  }

  // A group norm whose groups are the channels.
  ValueId normed_over_time(ValueId x, const std::string& name, int64_t channels) {
    const auto per_channel = [&](const char* part) {
      const ValueId values = builder_.as_f32(builder_.weight(name + part, {channels}));
      return ops::unsqueeze(graph_, {.x = values, .axes = Integers{1}});
    };
    const ValueId normed = ops::layer_norm(graph_, {.x = x, .epsilon = kConvolutionEpsilon});
    return ops::add(graph_, {ops::mul(graph_, {normed, per_channel(".weight")}), per_channel(".bias")});
  }

  // The window's weight is kept as directions v and, of each place in the window, a length g. Older files call them
  // weight_v and weight_g.
  ValueId position_weight() {
    const std::string at = "encoder.pos_conv_embed.conv.", newer = at + "parametrizations.weight.original";
    const bool is_new = builder_.has_weight(newer + "0");
    const int64_t kernel = config_.position_kernel, hidden = config_.hidden;
    const ValueId g = builder_.as_f32(builder_.weight(is_new ? newer + "0" : at + "weight_g", {1, 1, kernel}));
    const ValueId v = builder_.as_f32(
        builder_.weight(is_new ? newer + "1" : at + "weight_v", {hidden, hidden / config_.position_groups, kernel}));
    const ValueId squares =
        ops::reduce_sum(graph_, {.x = ops::mul(graph_, {v, v}), .axes = Integers{0, 1}, .keepdims = 1});
    return ops::mul(graph_, {v, ops::div(graph_, {g, ops::sqrt(graph_, {squares})})});
  }

  // An even window sees one place more before than behind.
  ValueId positions(ValueId x) {
    const int64_t before = config_.position_kernel / 2, behind = (config_.position_kernel - 1) / 2;
    const ValueId b = builder_.weight("encoder.pos_conv_embed.conv.bias", {config_.hidden});
    const ValueId y = ops::conv(graph_, {.x = rows(x),
                                         .w = position_weight(),
                                         .b = b,
                                         .pads = Integers{before, behind},
                                         .groups = config_.position_groups});
    return rows(builder_.activation(y, config_.convolution_activation));
  }

  ValueId encoded(ValueId x, int64_t layer) {
    const std::string at = fmt::format("encoder.layers.{}.", layer), label = fmt::format("layer{}", layer);
    if (config_.stable)
      return pre_norm_block(builder_, x, kNone,
                            {.hidden = config_.hidden,
                             .heads = config_.heads,
                             .intermediate = config_.intermediate,
                             .epsilon = config_.epsilon,
                             .activation = config_.activation,
                             .attention_norm = at + "layer_norm",
                             .query = at + "attention.q_proj",
                             .key = at + "attention.k_proj",
                             .value = at + "attention.v_proj",
                             .attention_output = at + "attention.out_proj",
                             .mlp_norm = at + "final_layer_norm",
                             .up = at + "feed_forward.intermediate_dense",
                             .down = at + "feed_forward.output_dense",
                             .label = label});
    return encoder_block(builder_, x, kNone,
                         {.hidden = config_.hidden,
                          .heads = config_.heads,
                          .intermediate = config_.intermediate,
                          .epsilon = config_.epsilon,
                          .activation = config_.activation,
                          .query = at + "attention.q_proj",
                          .key = at + "attention.k_proj",
                          .value = at + "attention.v_proj",
                          .attention_output = at + "attention.out_proj",
                          .attention_norm = at + "layer_norm",
                          .up = at + "feed_forward.intermediate_dense",
                          .down = at + "feed_forward.output_dense",
                          .output_norm = at + "final_layer_norm",
                          .label = label});
  }

  void outputs(ValueId x) {
    const int64_t hidden = config_.hidden;
    if (architecture_.ends_with("ForCTC")) {
      const ValueId scores = builder_.linear(x, "lm_head", hidden, keys_.size("vocab_size"), "logits");
      graph_.add_output(scores, "logits");
    } else if (architecture_.ends_with("ForAudioFrameClassification")) {
      graph_.add_output(builder_.linear(x, "classifier", hidden, class_count(keys_), "logits"), "logits");
    } else if (architecture_.ends_with("ForSequenceClassification")) {
      const int64_t width = keys_.size_or("classifier_proj_size", 256);
      const ValueId projected = builder_.linear(x, "projector", hidden, width);
      const ValueId mean = ops::reduce_mean(graph_, {.x = projected, .axes = Integers{1}, .keepdims = 0});
      graph_.add_output(builder_.linear(mean, "classifier", width, class_count(keys_), "logits"), "logits");
    } else {
      graph_.add_output(x, "last_hidden_state");
    }
  }

  const ModelConfig keys_;
  const Wav2Vec2Config config_;
  const std::string architecture_;
  Graph graph_;
  TransformerBuilder builder_;
};

}  // namespace

extern constinit const ModelDef wav2vec2_def{
    .name = "wav2vec2",
    .doc = "wav2vec 2.0: encoders of waveforms, for speech (CTC), sounds and frames.",
    .architectures =
        "Wav2Vec2ForCTC Wav2Vec2ForSequenceClassification Wav2Vec2ForAudioFrameClassification "
        "Wav2Vec2Model",
    .build = [](const ModelRequest& request) { return Wav2Vec2Builder(request).build(); }};

}  // namespace hone
