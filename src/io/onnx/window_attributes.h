// The attributes that operators of a sliding window share.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone {

// strides, dilations, pads, auto_pad and ceil_mode, as far as the node has them.
Attributes window_attributes(const OnnxNode& n);
Attributes conv_attributes(const OnnxNode& n);  // and groups

}  // namespace hone
