// Convolutions with all inputs of a group seen by all its outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm/plan.h"
#include "kernels/kernel.h"
#include "kernels/plane_window.h"

namespace hone {

// out[i,y,x,:] = epilogue(w · what the window sees of x at y, x), channels last, in `groups` separate groups of
// channels.
// Items are parts of the images, places and outputs, as the device has them.
struct ConvPlan {
  PlaneWindow window;
  bool any_plane = false;  // sizes of the plane are arguments; results have the bits of code for these sizes
  // On some plane the window may reach outside it. Decides how weights lie, so plans that share them agree on it; for
  // one plane it is implied where the window does.
  bool leaves_plane = false;
  int64_t groups = 1, channels = 1;  // of x, in one group
  // x is the gradient of a convolution's result, and so the result is that of its x: W are the weights of that
  // convolution, [groups * channels, n, height, width], whose taps go the other way.
  bool turned = false;
  int64_t planes = 1;       // of conv: decides only how weights are laid out
  bool has_x_zero = false;  // beside codes; 0 stands outside the plane otherwise
  GemmPlan product;         // of one group: n outputs, k = taps * channels in the order ky, kx, channel; the epilogue
  static constexpr auto fields() {
    return std::tuple(field("window", &ConvPlan::window), field("any_plane", &ConvPlan::any_plane),
                      field("leaves_plane", &ConvPlan::leaves_plane), field("groups", &ConvPlan::groups),
                      field("channels", &ConvPlan::channels), field("turned", &ConvPlan::turned),
                      field("planes", &ConvPlan::planes), field("has_x_zero", &ConvPlan::has_x_zero),
                      field("product", &ConvPlan::product));
  }
  static const KernelDef& kernel();
};

bool leaves_plane(const PlaneWindow& window);  // of its own
struct ConvArgs {
  void *x = nullptr, *w = nullptr;   // W laid out for it (Prepacking)
  std::array<void*, 14> epilogue{};  // its operands, then results; then where `has_x_zero` the code outside the plane
  int64_t rows = 0, images = 0;      // of the product: images * out_height * out_width
  WindowSizes window{};              // where `any_plane`
  static constexpr auto places() {
    using A = ConvArgs;
    return std::tuple(&A::x, &A::w, &A::epilogue, &A::rows, &A::images, &A::window);
  }
};

// The plan for planes of any size, whose calls for this one have these `sizes`. Strides and `leaves_plane`
// stay those of the plan.
void for_any_plane(ConvPlan& plan, WindowSizes& sizes);

Support lower_conv(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
