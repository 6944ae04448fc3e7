// A tensor with the name that a file has for it.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace hone {

struct NamedTensor {
  std::string name;
  Tensor tensor;  // plain numbers: neither packed nor strings
};

}  // namespace hone
