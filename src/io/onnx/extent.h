// How much a tensor of foreign dimensions takes, found out before anything is allocated.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ir/type.h"

namespace hone::onnx {

struct Extent {
  std::vector<int64_t> shape;
  int64_t elements = 1;
};

// Throws Error with `source` in front for negative dimensions, more than 64 of them, and more elements than memory has
// addresses.
Extent extent_of(const google::protobuf::RepeatedField<int64_t>& dims, DType dtype, const std::string& source);

}  // namespace hone::onnx
