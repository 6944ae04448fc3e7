// MobileNetV2 with Hugging Face's names: blocks that widen, look at each channel's window, and narrow again. Sandler et
// al., "MobileNetV2: Inverted residuals and linear bottlenecks" (2018).
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/mobilenet_layers.h"
#include "ops/calls/arithmetic.h"

namespace hone {
namespace {

constexpr Setting kSettings[] = {{"depth_divisible_by"},       {"expand_ratio"},       {"output_stride"},
                                 {"first_layer_is_expansion"}, {"finegrained_output"}, {"semantic_loss_ignore_index"}};
constexpr int64_t kWidths[] = {16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320};
constexpr int64_t kStrides[] = {2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
constexpr int64_t kStem = 32, kLast = 1280;

class MobileNetV2Builder {
 public:
  explicit MobileNetV2Builder(const ModelRequest& request)
      : keys_(request), config_(read_mobilenet_config(keys_, kSettings)), layers_(graph_, request) {
    graph_.name = "mobilenet_v2";
    graph_.metadata["family"] = "mobilenet_v2";
    constexpr double kMostRatio = 1024;
    if (!(ratio_ > 0 && ratio_ <= kMostRatio))
      fail("{}: key \"expand_ratio\" is {}; accepted: a number above 0, at most {}", keys_.source(), ratio_,
           kMostRatio);
  }

  Graph build() {
    int64_t channels = scaled(kWidths[0]);
    ValueId x = stem(layers_.images(config_.channels, config_.image_size), channels);
    // The image becomes smaller until output_stride is reached, and windows larger from there on.
    const int64_t smallest = keys_.size_or("output_stride", 32);
    int64_t reached = 2, dilation = 1;
    for (size_t i = 0; i < std::size(kStrides); ++i) {
      const int64_t width = scaled(kWidths[i + 1]);
      const std::string at = fmt::format("layer.{}.", i);
      if (reached == smallest) {
        x = residual(x, at, channels, width, 1, dilation);
        dilation *= kStrides[i];
      } else {
        x = residual(x, at, channels, width, kStrides[i], 1);
        reached *= kStrides[i];
      }
      channels = width;
    }
    const bool keeps_all = keys_.flag("finegrained_output", true) && config_.multiplier < 1;
    const int64_t last = keeps_all ? kLast : scaled(kLast);
    x = layer(x, "conv_1x1", {.inputs = channels, .outputs = last});
    mobilenet_outputs(layers_, config_, x, last);
    return std::move(graph_);
  }

 private:
  ValueId layer(ValueId x, const std::string& at, const MobileNetLayer& shape) {
    return mobilenet_layer(layers_, config_, x, at, shape);
  }

  // The nearest multiple, no less than min_depth, and never less than nine tenths. Halves go to even numbers first.
  int64_t divisible(double channels) const {
    const double whole = std::nearbyint(channels);
    const auto half = static_cast<double>(divisor_) / 2;
    const int64_t nearest = std::max(config_.least_channels, static_cast<int64_t>(whole + half) / divisor_ * divisor_);
    return static_cast<double>(nearest) < 0.9 * whole ? nearest + divisor_ : nearest;
  }
  int64_t scaled(int64_t channels) const { return divisible(static_cast<double>(channels) * config_.multiplier); }

  ValueId stem(ValueId x, int64_t outputs) {
    const int64_t wide = scaled(kStem);
    x = layer(x, "conv_stem.first_conv", {.inputs = config_.channels, .outputs = wide, .kernel = 3, .stride = 2});
    if (!keys_.flag("first_layer_is_expansion", true))
      x = layer(x, "conv_stem.expand_1x1", {.inputs = wide, .outputs = wide});
    x = layer(x, "conv_stem.conv_3x3", {.inputs = wide, .outputs = wide, .kernel = 3, .groups = wide});
    return layer(x, "conv_stem.reduce_1x1", {.inputs = wide, .outputs = outputs, .active = false});
  }

  ValueId residual(ValueId x, const std::string& at, int64_t inputs, int64_t outputs, int64_t stride,
                   int64_t dilation) {
    const int64_t wide = divisible(static_cast<double>(inputs) * ratio_);
    ValueId y = layer(x, at + "expand_1x1", {.inputs = inputs, .outputs = wide});
    y = layer(y, at + "conv_3x3",
              {.inputs = wide, .outputs = wide, .kernel = 3, .stride = stride, .groups = wide, .dilation = dilation});
    y = layer(y, at + "reduce_1x1", {.inputs = wide, .outputs = outputs, .active = false});
    return stride == 1 && inputs == outputs ? ops::add(graph_, {x, y}) : y;
  }

  const ModelConfig keys_;
  const MobileNetConfig config_;
  const double ratio_ = keys_.number_or("expand_ratio", 6);
  const int64_t divisor_ = keys_.size_or("depth_divisible_by", 8);
  Graph graph_;
  VisionBuilder layers_;
};

}  // namespace

extern constinit const ModelDef mobilenet_v2_def{
    .name = "mobilenet_v2",
    .doc = "MobileNetV2: encoders and classifiers of images of any size.",
    .architectures = "MobileNetV2ForImageClassification MobileNetV2Model",
    .build = [](const ModelRequest& request) { return MobileNetV2Builder(request).build(); }};

}  // namespace hone
