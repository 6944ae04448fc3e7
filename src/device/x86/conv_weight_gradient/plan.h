// What x86 decides of the gradient of a convolution's weights beside its class.
#pragma once

#include <cstdint>

#include "kernels/conv_weight_gradient/plan.h"

namespace hone {

// The places fall into parts: each is summed by itself, and where there are several the parts are joined in a second
// step.
//   items     parts of the places, groups, outputs and channels; join: elements of dW
struct X86ConvWeightGradientPlan : ConvWeightGradientPlan {
  using Extends = ConvWeightGradientPlan;
  enum class Task : uint8_t { sum, join } task = Task::sum;
  static constexpr auto fields() {
    return std::tuple_cat(ConvWeightGradientPlan::fields(),
                          std::tuple(field("task", &X86ConvWeightGradientPlan::task)));
  }
};

// With what launch() derives from the sizes: places of a block, and into how many parts blocks fall.
struct PlaceBlockArgs : ConvWeightGradientArgs {
  int64_t block_images = 0, block_rows = 0, block_columns = 0, part_count = 0;
  static constexpr auto places() {
    using A = PlaceBlockArgs;
    return std::tuple_cat(ConvWeightGradientArgs::places(), std::tuple(SizesFrom{32}, &A::block_images, &A::block_rows,
                                                                       &A::block_columns, &A::part_count));
  }
};

}  // namespace hone
