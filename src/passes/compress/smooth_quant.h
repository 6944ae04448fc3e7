// Options of the pass smooth_quant.
#pragma once

#include <span>

#include "base/options.h"

namespace hone {

struct SmoothQuantOptions {
  double alpha = 0.5;  // 0 leaves activations as they are, 1 moves all of their range into the weights
  static constexpr const char* kPass = "smooth_quant";
  static std::span<const OptionField<SmoothQuantOptions>> fields();
};

}  // namespace hone
