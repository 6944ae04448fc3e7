// The sliding window that convolution and pooling share: two spatial dimensions, NCHW.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace hone {

struct Window {
  std::array<int64_t, 2> kernel{}, strides{}, dilations{};
  std::array<int64_t, 4> pads{};  // top, left, bottom, right

  // Places along spatial axis i (0: height) that the window takes over `extent` elements. Error when a constant extent
  // is too small.
  Dim places(const Dim& extent, int i) const;
  // Input position of tap `tap` at place `place`; outside [0, extent) it lies in the padding.
  int64_t position(int64_t place, int64_t tap, size_t i) const {
    return place * strides[i] + tap * dilations[i] - pads[i];
  }
};

// Reads strides (default 1,1), pads (0,0,0,0) and dilations (1,1). `kernel` is [height, width].
Window read_window(const Attributes& attributes, std::array<int64_t, 2> kernel);

}  // namespace hone
