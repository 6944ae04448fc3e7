// Residual networks with torchvision's names. He et al., "Deep residual learning for image recognition" (2015); the
// bottleneck has its stride in the 3x3 convolution, as in torchvision.
#include "base/error.h"
#include "models/config.h"
#include "models/vision.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

struct ResNetConfig {
  std::vector<int64_t> depths, widths;  // of the stages: blocks, and channels within a block
  int64_t channels, image_size, classes;
  bool bottleneck, small_stem;
};

// Whether the key is the second of two accepted texts.
bool is_second(const ModelConfig& config, const char* key, const std::string& first, const std::string& second) {
  const std::string text = config.text_or(key, first);
  if (text != first && text != second)
    fail("{}: key \"{}\" is \"{}\"; accepted: {}, {}", config.source(), key, text, first, second);
  return text == second;
}

ResNetConfig read_config(const ModelRequest& request) {
  const ModelConfig config(request);
  ResNetConfig net{.depths = config.depths("depths"),
                   .widths = config.sizes("widths"),
                   .channels = config.size_or("num_channels", 3),
                   .image_size = config.size_or("image_size", 224),
                   .classes = config.size_or("num_classes", 1000),
                   .bottleneck = is_second(config, "block", "basic", "bottleneck"),
                   .small_stem = is_second(config, "stem", "imagenet", "small")};
  if (net.depths.size() != net.widths.size())
    fail("{}: {} depths and {} widths; expected one of each per stage", request.source, net.depths.size(),
         net.widths.size());
  return net;
}

class ResNetBuilder {
 public:
  explicit ResNetBuilder(const ModelRequest& request) : config_(read_config(request)), layers_(graph_, request) {
    graph_.name = "resnet";
    graph_.metadata["family"] = "resnet";
  }

  Graph build() {
    ValueId x = stem(layers_.images(config_.channels, config_.image_size));
    int64_t channels = config_.widths[0];
    for (size_t stage = 0; stage < config_.depths.size(); ++stage)
      for (int64_t block = 0; block < config_.depths[stage]; ++block) {
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        x = residual(x, fmt::format("layer{}.{}", stage + 1, block), channels, config_.widths[stage], stride);
        channels = config_.widths[stage] * expansion();
      }
    const ValueId logits = layers_.linear(layers_.spatial_mean(x, 0), "fc", channels, config_.classes, "logits");
    graph_.add_output(logits, "logits");
    return std::move(graph_);
  }

 private:
  int64_t expansion() const { return config_.bottleneck ? 4 : 1; }
  ValueId relu(ValueId x) { return ops::relu(graph_, {x}); }

  ValueId normed(ValueId x, const std::string& convolution, const std::string& norm, const Convolution& shape) {
    return layers_.batch_norm(layers_.convolution(x, convolution, shape), norm, shape.outputs);
  }

  // 7x7 and a pool, which quarter the image; small images (CIFAR's) get one 3x3 that keeps its size.
  ValueId stem(ValueId x) {
    const Convolution shape{.inputs = config_.channels,
                            .outputs = config_.widths[0],
                            .kernel = config_.small_stem ? 3 : 7,
                            .stride = config_.small_stem ? 1 : 2};
    x = relu(normed(x, "conv1", "bn1", shape));
    return config_.small_stem ? x : layers_.halving_max_pool(x);
  }

  ValueId residual(ValueId x, const std::string& at, int64_t inputs, int64_t width, int64_t stride) {
    const int64_t outputs = width * expansion();
    const auto part = [&](ValueId v, int i, const Convolution& shape) {
      return normed(v, fmt::format("{}.conv{}", at, i), fmt::format("{}.bn{}", at, i), shape);
    };
    ValueId y = x;
    if (config_.bottleneck) {
      y = relu(part(y, 1, {.inputs = inputs, .outputs = width}));
      y = relu(part(y, 2, {.inputs = width, .outputs = width, .kernel = 3, .stride = stride}));
      y = part(y, 3, {.inputs = width, .outputs = outputs});
    } else {
      y = relu(part(y, 1, {.inputs = inputs, .outputs = width, .kernel = 3, .stride = stride}));
      y = part(y, 2, {.inputs = width, .outputs = width, .kernel = 3});
    }
    if (stride != 1 || inputs != outputs)
      x = normed(x, at + ".downsample.0", at + ".downsample.1",
                 {.inputs = inputs, .outputs = outputs, .stride = stride});
    return relu(ops::add(graph_, {y, x}));
  }

  const ResNetConfig config_;
  Graph graph_;
  VisionBuilder layers_;
};

constexpr ModelPreset kPresets[] = {
    {"resnet18", R"({"block": "basic", "depths": [2, 2, 2, 2], "widths": [64, 128, 256, 512], "stem": "imagenet",
                     "num_channels": 3, "image_size": 224, "num_classes": 1000})"},
    {"resnet34", R"({"block": "basic", "depths": [3, 4, 6, 3], "widths": [64, 128, 256, 512], "stem": "imagenet",
                     "num_channels": 3, "image_size": 224, "num_classes": 1000})"},
    {"resnet50", R"({"block": "bottleneck", "depths": [3, 4, 6, 3], "widths": [64, 128, 256, 512], "stem": "imagenet",
                     "num_channels": 3, "image_size": 224, "num_classes": 1000})"}};

}  // namespace

extern constinit const ModelDef resnet_def{
    .name = "resnet",
    .doc = "Residual networks for images (ResNet-18, 34, 50), also with a 3x3 stem for small ones.",
    .architectures = "ResNet",
    .presets = kPresets,
    .build = [](const ModelRequest& request) { return ResNetBuilder(request).build(); }};

}  // namespace hone
