#include "models/mobilenet_layers.h"

#include "base/error.h"
#include "models/classifier.h"
#include "ops/calls/conv.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

constexpr Setting kShared[] = {{"num_channels"},   {"image_size"}, {"depth_multiplier"}, {"min_depth"},
                               {"layer_norm_eps"}, {"hidden_act"}, {"tf_padding"}};

}  // namespace

MobileNetConfig read_mobilenet_config(const ModelConfig& config, std::span<const Setting> further) {
  constexpr double kMostMultiplier = 1024;
  std::vector<Setting> settings(std::begin(kShared), std::end(kShared));
  settings.insert(settings.end(), further.begin(), further.end());
  config.check(settings);
  const auto name = json_get<std::vector<std::string>>(config.json(), "architectures", config.source()).at(0);
  MobileNetConfig net{.channels = config.size_or("num_channels", 3),
                      .image_size = config.size_or("image_size", 224),
                      .classes = class_count(config),
                      .least_channels = config.size_or("min_depth", 8),
                      .multiplier = config.number_or("depth_multiplier", 1),
                      .epsilon = config.number_or("layer_norm_eps", 1e-3),
                      .activation = config.text_or("hidden_act", "relu6"),
                      .padded_as_tensorflow = config.flag("tf_padding", true),
                      .classifies = name.ends_with("ForImageClassification")};
  if (!(net.multiplier > 0 && net.multiplier <= kMostMultiplier))
    fail("{}: key \"depth_multiplier\" is {}; accepted: a number above 0, at most {}", config.source(), net.multiplier,
         kMostMultiplier);
  return net;
}

// TensorFlow pads an even image below and on the right alone where the stride is 2: same_upper. Elsewhere both agree.
ValueId mobilenet_layer(VisionBuilder& builder, const MobileNetConfig& config, ValueId x, const std::string& at,
                        const MobileNetLayer& layer) {
  const ValueId w = builder.weight(at + ".convolution.weight",
                                   {layer.outputs, layer.inputs / layer.groups, layer.kernel, layer.kernel});
  ops::Conv call{.x = x,
                 .w = w,
                 .strides = Integers(2, layer.stride),
                 .dilations = Integers(2, layer.dilation),
                 .groups = layer.groups};
  if (config.padded_as_tensorflow && layer.stride > 1) call.auto_pad = "same_upper";
  else call.pads = Integers(4, (layer.kernel - 1) / 2 * layer.dilation);
  const ValueId y =
      builder.batch_norm(ops::conv(builder.graph(), call), at + ".normalization", layer.outputs, config.epsilon);
  return layer.active ? builder.activation(y, config.activation) : y;
}

void mobilenet_outputs(VisionBuilder& builder, const MobileNetConfig& config, ValueId x, int64_t channels) {
  Graph& graph = builder.graph();
  const ValueId pooled = builder.spatial_mean(x, 0);
  if (config.classifies) {
    graph.add_output(builder.linear(pooled, "classifier", channels, config.classes, "logits"), "logits");
  } else {
    graph.add_output(x, "last_hidden_state");
    graph.add_output(pooled, "pooler_output");
  }
}

}  // namespace hone
