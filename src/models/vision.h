// Parts of convolutional networks that several families share, with weights as torchvision names them. Maps of features
// are f32[B,C,H,W] of any batch and size.
#pragma once

#include <string>

#include "models/layers.h"

namespace hone {

// A square window; padding keeps the size, but for the stride.
struct Convolution {
  int64_t inputs = 0, outputs = 0, kernel = 1, stride = 1, groups = 1;
};

class VisionBuilder : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  // The input "pixel_values", f32[B,channels,H,W]; notes the usual H and W, which the configuration calls image_size.
  ValueId images(int64_t channels, int64_t usual_size);

  ValueId convolution(ValueId x, const std::string& name, const Convolution& shape);  // without bias
  ValueId biased_convolution(ValueId x, const std::string& name, const Convolution& shape);
  ValueId batch_norm(ValueId x, const std::string& name, int64_t channels, double epsilon = 1e-5);

  ValueId halving_max_pool(ValueId x);                // 3x3, stride 2, padded by 1
  ValueId spatial_mean(ValueId x, int64_t keepdims);  // over H and W
};

}  // namespace hone
