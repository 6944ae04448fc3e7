// Whisper's encoder of log-mel spectra, and classifiers behind it, with Hugging Face's names: two convolutions over
// time and a pre-norm transformer over 30 seconds. Of a model with a decoder the encoder alone is built. Radford et
// al., "Robust speech recognition via large-scale weak supervision" (2022).
#include "base/error.h"
#include "ir/fixed_tensors.h"
#include "models/classifier.h"
#include "models/config.h"
#include "models/pre_norm_block.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/reduce.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

constexpr Setting kSettings[] = {{"d_model"},
                                 {"encoder_layers"},
                                 {"encoder_attention_heads"},
                                 {"encoder_ffn_dim"},
                                 {"num_mel_bins"},
                                 {"max_source_positions"},
                                 {"activation_function"},
                                 {"classifier_proj_size"},
                                 {"use_weighted_layer_sum", "false"},
                                 // Of the decoder.
                                 {"is_encoder_decoder"},
                                 {"vocab_size"},
                                 {"num_hidden_layers"},
                                 {"decoder_layers"},
                                 {"decoder_attention_heads"},
                                 {"decoder_ffn_dim"},
                                 {"decoder_layerdrop"},
                                 {"max_target_positions"},
                                 {"scale_embedding"},
                                 {"suppress_tokens"},
                                 {"begin_suppress_tokens"},
                                 {"forced_decoder_ids"},
                                 {"median_filter_width"},
                                 // Of training.
                                 {"encoder_layerdrop"},
                                 {"activation_dropout"},
                                 {"init_std"},
                                 {"apply_spec_augment"},
                                 {"mask_time_prob"},
                                 {"mask_time_length"},
                                 {"mask_time_min_masks"},
                                 {"mask_feature_prob"},
                                 {"mask_feature_length"},
                                 {"mask_feature_min_masks"}};
constexpr double kEpsilon = 1e-5;

class WhisperBuilder {
 public:
  explicit WhisperBuilder(const ModelRequest& request)
      : config_(request),
        hidden_(config_.size("d_model")),
        heads_(config_.size("encoder_attention_heads")),
        classifies_(json_get<std::vector<std::string>>(request.config, "architectures", request.source)
                        .at(0)
                        .ends_with("ForAudioClassification")),
        builder_(graph_, request) {
    config_.check(kSettings);
    if (hidden_ % heads_ != 0)
      fail("{}: d_model {} is not a multiple of encoder_attention_heads {}", request.source, hidden_, heads_);
    if (builder_.has_weight("model.encoder.conv1.weight")) at_ = "model.encoder.";
    graph_.name = "whisper";
    graph_.metadata["family"] = "whisper";
  }

  Graph build() {
    const int64_t mels = config_.size_or("num_mel_bins", 80), positions = config_.size_or("max_source_positions", 1500);
    ValueId x = builder_.only_input("input_features", {Dim::symbol("B"), mels, 2 * positions});
    x = convolved(x, "conv1", mels, 1);
    x = convolved(x, "conv2", hidden_, 2);
    x = ops::transpose(graph_, {.x = x, .perm = Integers{0, 2, 1}});
    const ValueId table = builder_.weight(at_ + "embed_positions.weight", {positions, hidden_});
    fix_tensor(graph_, graph_.value(table).label);  // sines
    x = ops::add(graph_, {x, builder_.as_f32(table)});
    for (int64_t layer = 0; layer < config_.layers("encoder_layers"); ++layer)
      x = pre_norm_block(builder_, x, kNone, block(layer));
    x = builder_.layer_norm(x, at_ + "layer_norm", hidden_, kEpsilon);
    if (classifies_) classify(x);
    else graph_.add_output(x, "last_hidden_state");
    return std::move(graph_);
  }

 private:
  // The activation is gelu whatever the layers' is.
  ValueId convolved(ValueId x, const char* name, int64_t inputs, int64_t stride) {
    const ValueId w = builder_.weight(at_ + name + ".weight", {hidden_, inputs, 3});
    const ValueId b = builder_.weight(at_ + name + ".bias", {hidden_});
    const ops::Conv call{.x = x, .w = w, .b = b, .strides = Integers{stride}, .pads = Integers{1, 1}};
    return builder_.activation(ops::conv(graph_, call), "gelu");
  }

  PreNormBlock block(int64_t layer) const {
    const std::string at = fmt::format("{}layers.{}.", at_, layer);
    return {.hidden = hidden_,
            .heads = heads_,
            .intermediate = config_.size("encoder_ffn_dim"),
            .epsilon = kEpsilon,
            .activation = config_.text_or("activation_function", "gelu"),
            .attention_norm = at + "self_attn_layer_norm",
            .query = at + "self_attn.q_proj",
            .key = at + "self_attn.k_proj",
            .value = at + "self_attn.v_proj",
            .attention_output = at + "self_attn.out_proj",
            .mlp_norm = at + "final_layer_norm",
            .up = at + "fc1",
            .down = at + "fc2",
            .key_bias = false,
            .label = fmt::format("layer{}", layer)};
  }

  void classify(ValueId x) {
    const int64_t width = config_.size_or("classifier_proj_size", 256);
    const ValueId projected = builder_.linear(x, "projector", hidden_, width);
    const ValueId mean = ops::reduce_mean(graph_, {.x = projected, .axes = Integers{1}, .keepdims = 0});
    graph_.add_output(builder_.linear(mean, "classifier", width, class_count(config_), "logits"), "logits");
  }

  const ModelConfig config_;
  const int64_t hidden_, heads_;
  const bool classifies_;
  std::string at_ = "encoder.";
  Graph graph_;
  TransformerBuilder builder_;
};

}  // namespace

extern constinit const ModelDef whisper_def{
    .name = "whisper",
    .doc = "Whisper's encoder of log-mel spectra, and classifiers of sounds behind it.",
    .architectures = "WhisperForAudioClassification WhisperForConditionalGeneration WhisperModel",
    .build = [](const ModelRequest& request) { return WhisperBuilder(request).build(); }};

}  // namespace hone
