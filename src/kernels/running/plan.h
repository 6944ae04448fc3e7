// Running sums and products along an axis, and what a whole axis comes to.
#pragma once

#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// out[o, i, j] = the sum or product of x[o, 0..i, j], or from the end of x[o, i.., j]; `exclusive`: without i; `whole`:
// out[o, j] is that of them all, or the largest or least integer. Elements are taken one after the other, floats in
// f64, so that the bits are the reference's.
// Items are outer * blocks along inner.
struct RunningPlan {
  enum class Joins : uint8_t { sum, product, max, min } joins = Joins::sum;
  DType dtype = DType::f32;
  bool exclusive = false, reverse = false, whole = false;
  bool single = true;  // inner is 1: a run at a time, else runs side by side
  static constexpr auto fields() {
    return std::tuple(field("joins", &RunningPlan::joins), field("dtype", &RunningPlan::dtype),
                      field("exclusive", &RunningPlan::exclusive), field("reverse", &RunningPlan::reverse),
                      field("whole", &RunningPlan::whole), field("single", &RunningPlan::single));
  }
  static const KernelDef& kernel();
};

struct RunningArgs {
  void *x = nullptr, *out = nullptr;
  int64_t outer = 0, length = 0, inner = 0;
  static constexpr auto places() {
    using A = RunningArgs;
    return std::tuple(&A::x, &A::out, &A::outer, &A::length, &A::inner);
  }
};

Support lower_running(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
