// MobileNetV3 with torchvision's names. Howard et al., "Searching for MobileNetV3" (2019).
#include "base/error.h"
#include "models/config.h"
#include "models/vision.h"
#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

constexpr double kEpsilon = 1e-3;  // of every batch_norm

// One row of the paper's tables 1 and 2: expand (1x1), a depthwise window, perhaps squeeze and excite, project (1x1).
struct InvertedResidual {
  int64_t kernel, expanded, outputs;
  bool squeezes;
  std::string activation;
  int64_t stride;
};

InvertedResidual read_block(const Json& row, const std::string& source) {
  const auto positive = [&](size_t i) { return row[i].is_number_integer() && row[i] >= 1 && row[i] <= 1 << 20; };
  if (!row.is_array() || row.size() != 6 || !positive(0) || !positive(1) || !positive(2) || !row[3].is_boolean() ||
      !row[4].is_string() || !positive(5))
    fail(
        "{}: key \"blocks\" has {}; accepted: [kernel, expanded channels, channels, squeeze and excite?, activation, "
        "stride], e.g. [3, 72, 24, false, \"relu\", 2]",
        source, json_excerpt(row));
  return {.kernel = row[0],
          .expanded = row[1],
          .outputs = row[2],
          .squeezes = row[3],
          .activation = row[4],
          .stride = row[5]};
}

std::vector<InvertedResidual> read_blocks(const ModelConfig& config) {
  const Json rows = json_get<Json>(config.json(), "blocks", config.source());
  constexpr size_t kMost = 1000;
  if (!rows.is_array() || rows.empty() || rows.size() > kMost)
    fail("{}: key \"blocks\" is {}; accepted: a list of rows, 1 to {} of them", config.source(), json_excerpt(rows),
         kMost);
  std::vector<InvertedResidual> blocks;
  for (const Json& row : rows) blocks.push_back(read_block(row, config.source()));
  return blocks;
}

// A quarter of the channels as the nearest multiple of 8, but never less than nine tenths of it.
int64_t squeezed_channels(int64_t channels) {
  const int64_t quarter = channels / 4, nearest = std::max<int64_t>(8, (quarter + 4) / 8 * 8);
  return 10 * nearest < 9 * quarter ? nearest + 8 : nearest;
}

class MobileNetV3Builder {
 public:
  explicit MobileNetV3Builder(const ModelRequest& request)
      : config_(request), blocks_(read_blocks(config_)), layers_(graph_, request) {
    graph_.name = "mobilenet_v3";
    graph_.metadata["family"] = "mobilenet_v3";
  }

  Graph build() {
    const int64_t images = config_.size_or("num_channels", 3), hidden = config_.size("hidden_size");
    int64_t channels = config_.size_or("stem_width", 16);
    ValueId x = normed(layers_.images(images, config_.size_or("image_size", 224)), "features.0",
                       {.inputs = images, .outputs = channels, .kernel = 3, .stride = 2});
    x = layers_.activation(x, "hardswish");
    for (size_t i = 0; i < blocks_.size(); ++i) {
      x = residual(x, fmt::format("features.{}.block.", i + 1), channels, blocks_[i]);
      channels = blocks_[i].outputs;
    }
    x = normed(x, fmt::format("features.{}", blocks_.size() + 1), {.inputs = channels, .outputs = 6 * channels});
    x = layers_.spatial_mean(layers_.activation(x, "hardswish"), 0);
    x = layers_.activation(layers_.linear(x, "classifier.0", 6 * channels, hidden), "hardswish");
    const int64_t classes = config_.size_or("num_classes", 1000);
    graph_.add_output(layers_.linear(x, "classifier.3", hidden, classes, "logits"), "logits");
    return std::move(graph_);
  }

 private:
  ValueId normed(ValueId x, const std::string& at, const Convolution& shape) {
    return layers_.batch_norm(layers_.convolution(x, at + ".0", shape), at + ".1", shape.outputs, kEpsilon);
  }

  // The parts that a block lacks take no index.
  ValueId residual(ValueId x, const std::string& at, int64_t inputs, const InvertedResidual& block) {
    int index = 0;
    const auto next = [&] { return fmt::format("{}{}", at, index++); };
    const int64_t wide = block.expanded;
    ValueId y = x;
    if (wide != inputs)
      y = layers_.activation(normed(y, next(), {.inputs = inputs, .outputs = wide}), block.activation);
    const Convolution depthwise{
        .inputs = wide, .outputs = wide, .kernel = block.kernel, .stride = block.stride, .groups = wide};
    y = layers_.activation(normed(y, next(), depthwise), block.activation);
    if (block.squeezes) y = squeeze_and_excite(y, next(), wide);
    y = normed(y, next(), {.inputs = wide, .outputs = block.outputs});
    return block.stride == 1 && inputs == block.outputs ? ops::add(graph_, {y, x}) : y;
  }

  // Hu et al., "Squeeze-and-excitation networks" (2017).
  ValueId squeeze_and_excite(ValueId x, const std::string& at, int64_t channels) {
    const int64_t squeezed = squeezed_channels(channels);
    ValueId scale = layers_.spatial_mean(x, 1);
    scale = layers_.biased_convolution(scale, at + ".fc1", {.inputs = channels, .outputs = squeezed});
    scale = ops::relu(graph_, {scale});
    scale = layers_.biased_convolution(scale, at + ".fc2", {.inputs = squeezed, .outputs = channels});
    scale = ops::hard_sigmoid(graph_, {.x = scale, .alpha = 1.0 / 6, .beta = 0.5});
    return ops::mul(graph_, {x, scale});
  }

  const ModelConfig config_;
  const std::vector<InvertedResidual> blocks_;
  Graph graph_;
  VisionBuilder layers_;
};

constexpr ModelPreset kPresets[] = {
    {"mobilenet_v3_small",
     R"({"stem_width": 16, "hidden_size": 1024, "num_channels": 3, "image_size": 224, "num_classes": 1000,
        "blocks": [
        [3, 16, 16, true, "relu", 2],
        [3, 72, 24, false, "relu", 2],
        [3, 88, 24, false, "relu", 1],
        [5, 96, 40, true, "hardswish", 2],
        [5, 240, 40, true, "hardswish", 1],
        [5, 240, 40, true, "hardswish", 1],
        [5, 120, 48, true, "hardswish", 1],
        [5, 144, 48, true, "hardswish", 1],
        [5, 288, 96, true, "hardswish", 2],
        [5, 576, 96, true, "hardswish", 1],
        [5, 576, 96, true, "hardswish", 1]]})"},
    {"mobilenet_v3_large",
     R"({"stem_width": 16, "hidden_size": 1280, "num_channels": 3, "image_size": 224, "num_classes": 1000,
        "blocks": [
        [3, 16, 16, false, "relu", 1],
        [3, 64, 24, false, "relu", 2],
        [3, 72, 24, false, "relu", 1],
        [5, 72, 40, true, "relu", 2],
        [5, 120, 40, true, "relu", 1],
        [5, 120, 40, true, "relu", 1],
        [3, 240, 80, false, "hardswish", 2],
        [3, 200, 80, false, "hardswish", 1],
        [3, 184, 80, false, "hardswish", 1],
        [3, 184, 80, false, "hardswish", 1],
        [3, 480, 112, true, "hardswish", 1],
        [3, 672, 112, true, "hardswish", 1],
        [5, 672, 160, true, "hardswish", 2],
        [5, 960, 160, true, "hardswish", 1],
        [5, 960, 160, true, "hardswish", 1]]})"}};

}  // namespace

extern constinit const ModelDef mobilenet_v3_def{
    .name = "mobilenet_v3",
    .doc = "MobileNetV3 for images, small and large.",
    .architectures = "MobileNetV3",
    .presets = kPresets,
    .build = [](const ModelRequest& request) { return MobileNetV3Builder(request).build(); }};

}  // namespace hone
