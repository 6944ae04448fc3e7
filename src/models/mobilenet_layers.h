// What MobileNets of Hugging Face share: convolution, batch-norm and activation, with TensorFlow's padding or
// PyTorch's, and how many channels a multiplier leaves.
#pragma once

#include <span>
#include <string>

#include "models/config.h"
#include "models/vision.h"

namespace hone {

struct MobileNetConfig {
  int64_t channels = 3, image_size = 224, classes = 0, least_channels = 8;
  double multiplier = 1, epsilon = 1e-3;
  std::string activation;
  bool padded_as_tensorflow = true, classifies = false;
};

// The keys that both versions have; others that are followed are `further`.
MobileNetConfig read_mobilenet_config(const ModelConfig& config, std::span<const Setting> further);

struct MobileNetLayer {
  int64_t inputs = 0, outputs = 0, kernel = 1, stride = 1, groups = 1, dilation = 1;
  bool active = true;
};

// Weights AT.convolution and AT.normalization.
ValueId mobilenet_layer(VisionBuilder& builder, const MobileNetConfig& config, ValueId x, const std::string& at,
                        const MobileNetLayer& layer);

// logits of the mean over the image; or last_hidden_state and pooler_output.
void mobilenet_outputs(VisionBuilder& builder, const MobileNetConfig& config, ValueId x, int64_t channels);

}  // namespace hone
