// Pools, depthwise convolutions and other reductions of each channel under a window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/epilogue.h"
#include "codegen/kernel.h"
#include "codegen/plane_window.h"

namespace hone {

// One number per channel from the elements under each place of a window on x [images, height, width, channels]; what
// lies outside the plane is left out. Results are [images * places, channels].
//   pointers  [0] x, [1] w (see prepack()) or null, then epilogue operands, then results
//   dims      [0] images
//   items     images * out_height * blocks of channels
//   program   arg 0 = the reduction, in the compute scalar of x; arg 1 = the taps that count, f32; arg 2+i = operand i
struct WindowPlan : Epilogue {
  enum class Reduction : uint8_t { sum, max, min, products };  // products: the sum of x * w
  PlaneWindow plane;
  int64_t channels = 1;
  DType x = DType::f32;
  Reduction reduction = Reduction::sum;
  std::string w_format;  // canonical format string of packed weights, decoded once a call; "" otherwise
  // Where arg 1 is read: taps that count in a window of each row of places, and of each column; it is their product.
  std::vector<int64_t> taps_down, taps_across;
  static constexpr auto fields() {
    return std::tuple_cat(
        Epilogue::fields(),
        std::tuple(field("plane", &WindowPlan::plane), field("channels", &WindowPlan::channels),
                   field("x", &WindowPlan::x), field("reduction", &WindowPlan::reduction),
                   field("w_format", &WindowPlan::w_format), field("taps_down", &WindowPlan::taps_down),
                   field("taps_across", &WindowPlan::taps_across)));
  }
  static const KernelDef& kernel();
};

Refusal lower_window(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
