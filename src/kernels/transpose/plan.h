// Rows and columns exchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// out[p, j, i] = x[p, i, j]: planes with rows and columns exchanged.
// Items are planes * blocks of rows * blocks of columns.
struct TransposePlan {
  int element_bytes = 4;          // 1, 2 or 4
  int64_t rows = 0, columns = 0;  // where they are constant; 0: as arguments say
  static constexpr auto fields() {
    return std::tuple(field("element_bytes", &TransposePlan::element_bytes), field("rows", &TransposePlan::rows),
                      field("columns", &TransposePlan::columns));
  }
  static const KernelDef& kernel();
};

struct TransposeKernelArgs {
  void *x = nullptr, *out = nullptr;
  int64_t planes = 0, rows = 0, columns = 0;                   // rows and columns of a plane of x
  int64_t x_plane = 0, out_plane = 0, x_row = 0, out_row = 0;  // distances, in elements
  static constexpr auto places() {
    using A = TransposeKernelArgs;
    return std::tuple(&A::x, &A::out, &A::planes, &A::rows, &A::columns, &A::x_plane, &A::out_plane, &A::x_row,
                      &A::out_row);
  }
};

Support lower_transpose(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
