// Which elements of x a pad or resize reads, axis by axis.
#pragma once

#include "ir/op_def.h"

namespace hone {

// For each position of each axis of the result, the one of x [shape] that is read; -1: the value of the border.
// Operands but x and the value are given.
std::vector<std::vector<int64_t>> padded_positions(const EvalArgs& pad, const std::vector<int64_t>& shape);

struct Weighted {
  int64_t position;
  double weight;
};
using Sample = std::vector<Weighted>;  // of one place; none: the place is extrapolated

struct ResizedAxis {
  size_t axis;
  std::vector<Sample> places;
};
// Operands but x are given. Other axes stay as they are.
std::vector<ResizedAxis> resize_samples(const EvalArgs& resize, const std::vector<int64_t>& shape);

}  // namespace hone
