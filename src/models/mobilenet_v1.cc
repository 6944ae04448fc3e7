// MobileNetV1 with Hugging Face's names: depthwise windows and 1x1 convolutions in turn. Howard et al., "MobileNets:
// Efficient convolutional neural networks for mobile vision applications" (2017).
#include <algorithm>

#include "models/mobilenet_layers.h"

namespace hone {
namespace {

constexpr int kStrides[] = {1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1};  // of the depthwise windows

Graph build_mobilenet_v1(const ModelRequest& request) {
  const MobileNetConfig config = read_mobilenet_config(ModelConfig(request), {});
  Graph graph;
  graph.name = "mobilenet_v1";
  graph.metadata["family"] = "mobilenet_v1";
  VisionBuilder builder(graph, request);
  const auto scaled = [&](int64_t depth) {
    return std::max(static_cast<int64_t>(static_cast<double>(depth) * config.multiplier), config.least_channels);
  };
  int64_t depth = 32, channels = scaled(depth);
  ValueId x = builder.images(config.channels, config.image_size);
  x = mobilenet_layer(builder, config, x, "conv_stem",
                      {.inputs = config.channels, .outputs = channels, .kernel = 3, .stride = 2});
  int index = 0;
  for (const int stride : kStrides) {
    x = mobilenet_layer(builder, config, x, fmt::format("layer.{}", index),
                        {.inputs = channels, .outputs = channels, .kernel = 3, .stride = stride, .groups = channels});
    if (stride == 2 || index == 0) depth *= 2;  // twice the channels where the image is halved
    const int64_t wider = scaled(depth);
    x = mobilenet_layer(builder, config, x, fmt::format("layer.{}", index + 1), {.inputs = channels, .outputs = wider});
    channels = wider;
    index += 2;
  }
  mobilenet_outputs(builder, config, x, channels);
  return graph;
}

}  // namespace

extern constinit const ModelDef mobilenet_v1_def{.name = "mobilenet_v1",
                                                 .doc = "MobileNetV1: encoders and classifiers of images of any size.",
                                                 .architectures = "MobileNetV1ForImageClassification MobileNetV1Model",
                                                 .build = build_mobilenet_v1};

}  // namespace hone
