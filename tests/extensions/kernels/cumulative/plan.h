// Running extremes along an axis.
#pragma once

#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// out[o, i, j] = the first largest or smallest of x[o, 0..i, j], or from the end of x[o, i.., j]; from a NaN on, that
// NaN. So it does not matter in which order elements are compared, and the result has the bits of an element.
// Items are outer * blocks along inner.
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

struct CumulativeArgs {
  void *x = nullptr, *out = nullptr;
  int64_t outer = 0, length = 0, inner = 0;
  static constexpr auto places() {
    using A = CumulativeArgs;
    return std::tuple(&A::x, &A::out, &A::outer, &A::length, &A::inner);
  }
};

Support lower_cumulative(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
