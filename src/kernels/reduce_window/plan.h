// Pools, depthwise convolutions and other reductions of each channel under a window.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/epilogue.h"
#include "kernels/kernel.h"
#include "kernels/plane_window.h"

namespace hone {

// One number per channel from the elements under each place of a window on x [images, height, width, channels]; what
// lies outside the plane is left out. Results are [images * places, channels].
// Products of codes have sums of i32, exact, and see the code x_zero outside the plane (0 where there is none).
//   items     parts of the images, rows of places and channels, as the device has them
//   program   arg 0 = the reduction, in the compute scalar of x (codes: i32); arg 1 = the taps that count, f32; arg 2+i
//             = operand i
struct ReduceWindowPlan : Epilogue {
  enum class Reduction : uint8_t { sum, max, min, products };  // products: the sum of x * w
  PlaneWindow plane;
  // Sizes of the plane are arguments, and those of the window where they are 0; results have the bits of code for these
  // sizes.
  bool any_plane = false;
  int64_t channels = 1;
  DType x = DType::f32;
  Reduction reduction = Reduction::sum;
  bool has_x_zero = false;
  std::string w_format;  // canonical format string of packed weights, decoded once a call; "" otherwise
  // Where arg 1 is read on one plane: taps that count in a window of each row of places, and of each column; it is
  // their product.
  std::vector<int64_t> taps_down, taps_across;
  static constexpr auto fields() {
    return std::tuple_cat(
        Epilogue::fields(),
        std::tuple(field("plane", &ReduceWindowPlan::plane), field("any_plane", &ReduceWindowPlan::any_plane),
                   field("channels", &ReduceWindowPlan::channels), field("x", &ReduceWindowPlan::x),
                   field("reduction", &ReduceWindowPlan::reduction), field("has_x_zero", &ReduceWindowPlan::has_x_zero),
                   field("w_format", &ReduceWindowPlan::w_format), field("taps_down", &ReduceWindowPlan::taps_down),
                   field("taps_across", &ReduceWindowPlan::taps_across)));
  }
  bool multiplies_codes() const { return reduction == Reduction::products && !is_float(x); }
  static const KernelDef& kernel();
};

struct ReduceWindowArgs {
  void *x = nullptr, *w = nullptr;   // w laid out for it (Prepacking) or null
  std::array<void*, 14> epilogue{};  // its operands, then results; then where `has_x_zero` the code
  int64_t images = 0;
  // Where `any_plane`: its sizes, and for arg 1 how many rows and columns beside the plane count: above, left, below,
  // right.
  WindowSizes window{};
  std::array<int64_t, 4> counted{};
  static constexpr auto places() {
    using A = ReduceWindowArgs;
    return std::tuple(&A::x, &A::w, &A::epilogue, &A::images, SizesFrom{2}, &A::window, &A::counted);
  }
};

struct CountedPadding {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

// The plan for planes of any size, whose calls for this one have these `args`; with `any_kernel` for windows of any
// size too, as where they cover the plane. Arg 1 counts taps in the plane and in the padding `counted`.
void for_any_plane(ReduceWindowPlan& plan, ReduceWindowArgs& args, const CountedPadding& counted = {},
                   bool any_kernel = false);

Support lower_window(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
