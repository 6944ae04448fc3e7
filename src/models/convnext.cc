// ConvNeXt, encoders and classifiers of images, with Hugging Face's names: blocks of a depthwise 7x7 window, a norm
// over the channels and an MLP of each pixel. Liu et al., "A ConvNet for the 2020s" (2022).
#include "base/error.h"
#include "models/classifier.h"
#include "models/config.h"
#include "models/transformer.h"
#include "models/vision.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

constexpr Setting kSettings[] = {{"num_channels"},
                                 {"patch_size"},
                                 {"num_stages"},
                                 {"hidden_sizes"},
                                 {"depths"},
                                 {"hidden_act"},
                                 {"layer_norm_eps"},
                                 {"layer_scale_init_value"},
                                 {"image_size"},
                                 {"drop_path_rate"},
                                 // Of backbones, which are other architectures.
                                 {"out_features"},
                                 {"out_indices"},
                                 {"stage_names"}};
constexpr double kEpsilon = 1e-6;  // of all norms but the last

struct ConvNextConfig {
  Integers depths, widths;
  int64_t channels, patch, image_size, classes;
  double epsilon;
  std::string activation;
  bool scaled, classifies;
};

ConvNextConfig read_config(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  const auto name = json_get<std::vector<std::string>>(request.config, "architectures", request.source).at(0);
  ConvNextConfig net{.depths = config.depths("depths"),
                     .widths = config.sizes("hidden_sizes"),
                     .channels = config.size_or("num_channels", 3),
                     .patch = config.size_or("patch_size", 4),
                     .image_size = config.size_or("image_size", 224),
                     .classes = class_count(config),
                     .epsilon = config.number_or("layer_norm_eps", 1e-12),
                     .activation = config.text_or("hidden_act", "gelu"),
                     .scaled = config.number_or("layer_scale_init_value", 1e-6) > 0,
                     .classifies = name.ends_with("ForImageClassification")};
  const int64_t stages = config.size_or("num_stages", std::ssize(net.depths));
  if (std::ssize(net.depths) != stages || std::ssize(net.widths) != stages)
    fail("{}: {} depths and {} hidden_sizes for {} stages; expected one of each per stage", request.source,
         net.depths.size(), net.widths.size(), stages);
  return net;
}

class ConvNextBuilder {
 public:
  explicit ConvNextBuilder(const ModelRequest& request)
      : config_(read_config(request)), builder_(graph_, request), vision_(graph_, request) {
    graph_.name = "convnext";
    graph_.metadata["family"] = "convnext";
  }

  Graph build() {
    int64_t channels = config_.widths[0];
    ValueId x = vision_.images(config_.channels, config_.image_size);
    x = patches(x, "embeddings.patch_embeddings", config_.channels, channels, config_.patch);
    x = normed_channels(x, "embeddings.layernorm", channels);
    for (size_t stage = 0; stage < config_.depths.size(); ++stage) {
      const std::string at = fmt::format("encoder.stages.{}.", stage);
      const int64_t width = config_.widths[stage];
      if (stage > 0) {
        x = normed_channels(x, at + "downsampling_layer.0", channels);
        x = patches(x, at + "downsampling_layer.1", channels, width, 2);
      }
      channels = width;
      for (int64_t i = 0; i < config_.depths[stage]; ++i) x = block(x, fmt::format("{}layers.{}.", at, i), width);
    }
    const ValueId pooled = builder_.layer_norm(vision_.spatial_mean(x, 0), "layernorm", channels, config_.epsilon);
    if (config_.classifies) {
      graph_.add_output(builder_.linear(pooled, "classifier", channels, config_.classes, "logits"), "logits");
    } else {
      graph_.add_output(x, "last_hidden_state");
      graph_.add_output(pooled, "pooler_output");
    }
    return std::move(graph_);
  }

 private:
  ValueId channels_last(ValueId x) { return ops::transpose(graph_, {.x = x, .perm = Integers{0, 2, 3, 1}}); }
  ValueId channels_first(ValueId x) { return ops::transpose(graph_, {.x = x, .perm = Integers{0, 3, 1, 2}}); }

  ValueId normed_channels(ValueId x, const std::string& name, int64_t channels) {
    return channels_first(builder_.layer_norm(channels_last(x), name, channels, kEpsilon));
  }

  // Windows that do not overlap.
  ValueId patches(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, int64_t side) {
    const ValueId w = builder_.weight(name + ".weight", {outputs, inputs, side, side});
    const ValueId b = builder_.weight(name + ".bias", {outputs});
    return ops::conv(graph_, {.x = x, .w = w, .b = b, .strides = Integers(2, side)});
  }

  ValueId block(ValueId x, const std::string& at, int64_t width) {
    const Convolution window{.inputs = width, .outputs = width, .kernel = 7, .groups = width};
    ValueId y = channels_last(vision_.biased_convolution(x, at + "dwconv", window));
    y = builder_.layer_norm(y, at + "layernorm", width, kEpsilon);
    y = builder_.activation(builder_.linear(y, at + "pwconv1", width, 4 * width), config_.activation);
    y = builder_.linear(y, at + "pwconv2", 4 * width, width);
    if (config_.scaled)
      y = ops::mul(graph_, {y, builder_.as_f32(builder_.weight(at + "layer_scale_parameter", {width}))});
    return ops::add(graph_, {x, channels_first(y)});
  }

  const ConvNextConfig config_;
  Graph graph_;
  TransformerBuilder builder_;
  VisionBuilder vision_;
};

}  // namespace

extern constinit const ModelDef convnext_def{
    .name = "convnext",
    .doc = "ConvNeXt: encoders and classifiers of images of any size.",
    .architectures = "ConvNextForImageClassification ConvNextModel",
    .build = [](const ModelRequest& request) { return ConvNextBuilder(request).build(); }};

}  // namespace hone
