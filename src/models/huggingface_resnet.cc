// Residual networks as Hugging Face names and configures them: the widths are those of a stage's result, the stem has
// one of its own, and the stride may be in the first stage and in the first convolution of a bottleneck. resnet.cc has
// torchvision's. He et al., "Deep residual learning for image recognition" (2015).
#include "base/error.h"
#include "models/classifier.h"
#include "models/config.h"
#include "models/vision.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"num_channels"},
                                 {"embedding_size"},
                                 {"hidden_sizes"},
                                 {"depths"},
                                 {"layer_type"},
                                 {"hidden_act"},
                                 {"downsample_in_first_stage"},
                                 {"downsample_in_bottleneck"},
                                 // Of backbones, which are other architectures.
                                 {"out_features"},
                                 {"out_indices"},
                                 {"stage_names"}};
constexpr int64_t kReduction = 4;  // of a bottleneck's channels

struct NetConfig {
  std::vector<int64_t> depths, widths;
  int64_t channels, stem, classes;
  std::string activation;
  bool bottleneck, early_stride, first_stride, classifies;
};

NetConfig read_config(const ModelRequest& request) {
  const ModelConfig config(request);
  config.check(kSettings);
  const auto name = json_get<std::vector<std::string>>(request.config, "architectures", request.source).at(0);
  const std::string type = config.text_or("layer_type", "bottleneck");
  if (type != "bottleneck" && type != "basic")
    fail("{}: key \"layer_type\" is \"{}\"; accepted: bottleneck, basic", request.source, type);
  NetConfig net{.depths = config.depths("depths"),
                .widths = config.sizes("hidden_sizes"),
                .channels = config.size_or("num_channels", 3),
                .stem = config.size_or("embedding_size", 64),
                .classes = class_count(config),
                .activation = config.text_or("hidden_act", "relu"),
                .bottleneck = type == "bottleneck",
                .early_stride = config.flag("downsample_in_bottleneck"),
                .first_stride = config.flag("downsample_in_first_stage"),
                .classifies = name.ends_with("ForImageClassification")};
  if (net.depths.size() != net.widths.size())
    fail("{}: {} depths and {} hidden_sizes; expected one of each per stage", request.source, net.depths.size(),
         net.widths.size());
  for (const int64_t width : net.widths)
    if (net.bottleneck && width < kReduction)
      fail("{}: key \"hidden_sizes\" has {}; a bottleneck needs at least {}", request.source, width, kReduction);
  return net;
}

class Builder {
 public:
  explicit Builder(const ModelRequest& request) : config_(read_config(request)), layers_(graph_, request) {
    graph_.name = "resnet";
    graph_.metadata["family"] = "resnet";
  }

  Graph build() {
    int64_t channels = config_.stem;
    ValueId x = layers_.images(config_.channels, 224);
    x = active(
        normed(x, "embedder.embedder", {.inputs = config_.channels, .outputs = channels, .kernel = 7, .stride = 2}));
    x = layers_.halving_max_pool(x);
    for (size_t stage = 0; stage < config_.depths.size(); ++stage)
      for (int64_t i = 0; i < config_.depths[stage]; ++i) {
        const int64_t stride = i == 0 && (stage > 0 || config_.first_stride) ? 2 : 1;
        x = residual(x, fmt::format("encoder.stages.{}.layers.{}.", stage, i), channels, config_.widths[stage], stride);
        channels = config_.widths[stage];
      }
    if (config_.classifies) {
      const ValueId pooled = layers_.spatial_mean(x, 0);
      graph_.add_output(layers_.linear(pooled, "classifier.1", channels, config_.classes, "logits"), "logits");
    } else {
      graph_.add_output(x, "last_hidden_state");
      graph_.add_output(layers_.spatial_mean(x, 1), "pooler_output");
    }
    return std::move(graph_);
  }

 private:
  ValueId active(ValueId x) { return layers_.activation(x, config_.activation); }

  ValueId normed(ValueId x, const std::string& at, const Convolution& shape) {
    return layers_.batch_norm(layers_.convolution(x, at + ".convolution", shape), at + ".normalization", shape.outputs);
  }

  // Between its convolutions a block has relu, whatever hidden_act is.
  ValueId residual(ValueId x, const std::string& at, int64_t inputs, int64_t width, int64_t stride) {
    const auto part = [&](ValueId v, int i, const Convolution& shape) {
      return normed(v, fmt::format("{}layer.{}", at, i), shape);
    };
    const auto relu = [&](ValueId v) { return layers_.activation(v, "relu"); };
    ValueId y = x;
    if (config_.bottleneck) {
      const int64_t narrow = width / kReduction, early = config_.early_stride ? stride : 1;
      y = relu(part(y, 0, {.inputs = inputs, .outputs = narrow, .stride = early}));
      y = relu(part(y, 1, {.inputs = narrow, .outputs = narrow, .kernel = 3, .stride = stride / early}));
      y = part(y, 2, {.inputs = narrow, .outputs = width});
    } else {
      y = relu(part(y, 0, {.inputs = inputs, .outputs = width, .kernel = 3, .stride = stride}));
      y = part(y, 1, {.inputs = width, .outputs = width, .kernel = 3});
    }
    if (stride != 1 || inputs != width)
      x = normed(x, at + "shortcut", {.inputs = inputs, .outputs = width, .stride = stride});
    return active(ops::add(graph_, {y, x}));
  }

  const NetConfig config_;
  Graph graph_;
  VisionBuilder layers_;
};

}  // namespace

extern constinit const ModelDef huggingface_resnet_def{
    .name = "huggingface_resnet",
    .doc = "Residual networks with Hugging Face's names and configuration (microsoft/resnet-50).",
    .architectures = "ResNetForImageClassification ResNetModel",
    .build = [](const ModelRequest& request) { return Builder(request).build(); }};

}  // namespace hone
