// Images of another size.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// out[i, y, x, :] = the weighted sum of the elements of x [images, height, width, channels] that row y and column x
// read, in f32.
//   pointers  [0] x, [1] out; where `any_plane` also the tables: [2] positions (i64) and [3] weights (f32) of rows,
//             [4] and [5] of columns
//   dims      [0] images; where `any_plane` [1] height, [2] width, places of [3] rows and [4] columns
//   items     images * places of rows
struct ResizePlan {
  // Place p reads positions [p * taps, (p + 1) * taps), with the weights beside them.
  struct Axis {
    int64_t taps = 1;
    std::vector<int64_t> positions;
    std::vector<float> weights;
    int64_t places() const { return std::ssize(positions) / taps; }
    static constexpr auto fields() {
      return std::tuple(field("taps", &Axis::taps), field("positions", &Axis::positions),
                        field("weights", &Axis::weights));
    }
  };
  DType x = DType::f32, result = DType::f32;
  bool any_plane = false;  // sizes and tables are arguments; height, width and both axes but their taps are empty
  int64_t height = 1, width = 1, channels = 1;
  Axis rows, columns;
  static constexpr auto fields() {
    return std::tuple(field("x", &ResizePlan::x), field("result", &ResizePlan::result),
                      field("any_plane", &ResizePlan::any_plane), field("height", &ResizePlan::height),
                      field("width", &ResizePlan::width), field("channels", &ResizePlan::channels),
                      field("rows", &ResizePlan::rows), field("columns", &ResizePlan::columns));
  }
  static const KernelDef& kernel();
};

// The plan for planes of any size, whose calls for this one have `dims` and the tables that are returned.
struct ResizeTables {
  ResizePlan::Axis rows, columns;
};
ResizeTables for_any_plane(ResizePlan& plan, KernelDims& dims);

Support lower_resize(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
