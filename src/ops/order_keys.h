// How ops that sort compare elements of any type.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/tensor.h"

namespace hone {

// For each element an integer; these are ordered and equal as the elements are. Strings compare byte by byte; NaN is
// larger than all numbers and equal to itself; -0 equals 0.
std::vector<int64_t> order_keys(const Tensor& tensor);

}  // namespace hone
