// Gradients of largest elements under a window.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/plane_window.h"

namespace hone {

// dx, of x [images, height, width, channels], from d [images, out_height, out_width, channels]: each element of d is
// added to the first largest element of its channel under the window at its place, of those in the plane; NaN is larger
// than any number.
//   pointers  [0] x, [1] d, [2] dx
//   dims      [0] images, [2] to [9] the sizes of the plane and of the window (plane_window.h)
//   items     images * blocks of channels
struct MaxPoolGradientPlan {
  PlaneWindow window;  // on any plane
  int64_t channels = 1;
  DType x = DType::f32, d = DType::f32;
  static constexpr auto fields() {
    return std::tuple(field("window", &MaxPoolGradientPlan::window), field("channels", &MaxPoolGradientPlan::channels),
                      field("x", &MaxPoolGradientPlan::x), field("d", &MaxPoolGradientPlan::d));
  }
  static const KernelDef& kernel();
};

Support lower_max_pool_gradient(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
