// Gradients of largest elements under a window.
#pragma once

#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"
#include "kernels/plane_window.h"

namespace hone {

// dx, of x [images, height, width, channels], from d [images, out_height, out_width, channels]: each element of d is
// added to the first largest element of its channel under the window at its place, of those in the plane; NaN is larger
// than any number.
// Items are images * blocks of channels.
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

struct MaxPoolGradientArgs {
  void *x = nullptr, *d = nullptr, *dx = nullptr;
  int64_t images = 0;
  WindowSizes window{};
  static constexpr auto places() {
    using A = MaxPoolGradientArgs;
    return std::tuple(&A::x, &A::d, &A::dx, &A::images, SizesFrom{2}, &A::window);
  }
};

Support lower_max_pool_gradient(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
