// Running extremes along an axis.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace hone {

// out[o, i, j] = the first largest or smallest of x[o, 0..i, j], or from the end of x[o, i.., j]; from a NaN on, that
// NaN. So it does not matter in which order elements are compared, and the result has the bits of an element.
//   pointers  [0] x, [1] out
//   dims      [0] outer, [1] length, [2] inner
//   items     outer * blocks along inner
struct CumulativePlan {
  DType dtype = DType::f32;
  bool largest = true;
  bool reverse = false;
  bool along = true;  // inner is 1: the elements of a run lie together
  static constexpr auto fields() {
    return std::tuple(field("dtype", &CumulativePlan::dtype), field("largest", &CumulativePlan::largest),
                      field("reverse", &CumulativePlan::reverse), field("along", &CumulativePlan::along));
  }
  static const KernelDef& kernel();
};

Support lower_cumulative(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
