// The generated table of operator families.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone::io {

std::span<const OnnxFamilyDef* const> all();

}  // namespace hone::io
