// Gradients of the weights of convolutions.
#pragma once

#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"
#include "kernels/plane_window.h"

namespace hone {

// dW[o,c,tap] = Σ over images and places of d[n,y,x,o] · x[n,·,·,c], at the element of x that the tap lies on there;
// channels last, in `groups` separate groups of channels.
// Items are parts of the groups, outputs and channels, as the device has them.
struct ConvWeightGradientPlan {
  PlaneWindow window;        // on any plane
  bool only_places = false;  // a window of one pixel and no padding: what lies between the places of x is not read
  int64_t groups = 1, channels = 1, outputs = 1;  // channels of x and of d, in one group
  DType x = DType::f32, d = DType::f32;
  bool matrix = false;  // dW is [O, window * C/groups], else [O, C/groups, window]
  int64_t elements() const { return groups * outputs * channels * window.taps(); }  // of dW
  static constexpr auto fields() {
    return std::tuple(
        field("window", &ConvWeightGradientPlan::window), field("only_places", &ConvWeightGradientPlan::only_places),
        field("groups", &ConvWeightGradientPlan::groups), field("channels", &ConvWeightGradientPlan::channels),
        field("outputs", &ConvWeightGradientPlan::outputs), field("x", &ConvWeightGradientPlan::x),
        field("d", &ConvWeightGradientPlan::d), field("matrix", &ConvWeightGradientPlan::matrix));
  }
  static const KernelDef& kernel();
};

struct ConvWeightGradientArgs {
  void *d = nullptr, *x = nullptr;
  void* parts = nullptr;  // memory that a device's steps share, of which a class has one
  void* dw = nullptr;
  int64_t images = 0;
  WindowSizes window{};
  static constexpr auto places() {
    using A = ConvWeightGradientArgs;
    return std::tuple(&A::d, &A::x, &A::parts, &A::dw, &A::images, SizesFrom{2}, &A::window);
  }
};

Support lower_conv_weight_gradient(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
