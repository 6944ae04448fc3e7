// A plain convolutional classifier: per width a square convolution, 3x3 unless `kernel` says otherwise, batch-norm,
// ReLU and a pool that halves the image; then the mean over the image and one linear layer. The names are those of a
// torch.nn.Sequential called features.
#include "base/error.h"
#include "models/config.h"
#include "models/vision.h"
#include "ops/calls/activations.h"

namespace hone {
namespace {

Graph build_convnet(const ModelRequest& request) {
  const ModelConfig config(request);
  Graph graph;
  graph.name = "convnet";
  graph.metadata["family"] = "convnet";
  VisionBuilder layers(graph, request);
  int64_t channels = config.size_or("num_channels", 3);
  ValueId x = layers.images(channels, config.size_or("image_size", 32));
  const int64_t kernel = config.size_or("kernel", 3);
  if (kernel % 2 == 0)
    fail("{}: kernel {} is even; accepted: odd sizes, which keep the image's", config.source(), kernel);
  int index = 0;
  for (const int64_t width : config.sizes("widths")) {
    x = layers.convolution(x, fmt::format("features.{}", index),
                           {.inputs = channels, .outputs = width, .kernel = kernel});
    x = layers.batch_norm(x, fmt::format("features.{}", index + 1), width);
    x = layers.halving_max_pool(ops::relu(graph, {x}));
    channels = width;
    index += 4;
  }
  const ValueId mean = layers.spatial_mean(x, 0);
  graph.add_output(layers.linear(mean, "classifier", channels, config.size_or("num_classes", 10), "logits"), "logits");
  return graph;
}

constexpr ModelPreset kPresets[] = {
    {"convnet", R"({"widths": [32, 64, 128], "kernel": 3, "num_channels": 3, "image_size": 32, "num_classes": 10})"}};

}  // namespace

extern constinit const ModelDef convnet_def{.name = "convnet",
                                            .doc = "A plain convolutional classifier of chosen widths.",
                                            .architectures = "ConvNet",
                                            .presets = kPresets,
                                            .build = build_convnet};

}  // namespace hone
