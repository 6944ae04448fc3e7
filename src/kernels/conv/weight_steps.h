// Where the weights of a convolution lie, so that panels are made of them in whichever order they come.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/conv/plan.h"

namespace hone {

// Of a group, in elements: what lies before its first weight, and how far it is from one to the next.
struct WeightSteps {
  int64_t first = 0;
  int64_t output = 0, tap = 0, plane = 0, channel = 0;
  int64_t channels = 1;  // of a plane; those of the product are plane after plane
  int64_t of_channel(int64_t c) const { return c / channels * plane + c % channels * channel; }
};

// Of plain weights of this shape: [groups * n, taps * channels], [groups * n, channels, window...] or, of a turned
// plan, [groups * channels, n, window...].
WeightSteps weight_steps(const ConvPlan& plan, std::span<const int64_t> shape);

// Whether they are rows of the product's matrix as they lie.
bool are_rows(const ConvPlan& plan, const WeightSteps& steps);

}  // namespace hone
