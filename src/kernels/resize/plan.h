// Images of another size.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// out[i, y, x, :] = the weighted sum of the elements of x [images, height, width, channels] that row y and column x
// read, in f32.
// Items are images * places of rows.
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

struct ResizeArgs {
  void *x = nullptr, *out = nullptr;
  // Where `any_plane`: tables of positions (i64) and weights (f32), and sizes.
  void *row_positions = nullptr, *row_weights = nullptr, *column_positions = nullptr, *column_weights = nullptr;
  int64_t images = 0;
  int64_t height = 0, width = 0, row_places = 0, column_places = 0;
  static constexpr auto places() {
    using A = ResizeArgs;
    return std::tuple(&A::x, &A::out, &A::row_positions, &A::row_weights, &A::column_positions, &A::column_weights,
                      &A::images, &A::height, &A::width, &A::row_places, &A::column_places);
  }
};

// The plan for planes of any size, whose calls for this one have these `args` and the tables that are returned.
struct ResizeTables {
  ResizePlan::Axis rows, columns;
};
ResizeTables for_any_plane(ResizePlan& plan, ResizeArgs& args);

Support lower_resize(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
