// Rows and columns exchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace hone {

// out[p, j, i] = x[p, i, j]: planes with rows and columns exchanged.
//   pointers  [0] x, [1] out
//   dims      [0] planes, [1] rows, [2] columns of a plane of x, then in elements the distance of planes of [3] x,
//             [4] out, of rows of [5] x, [6] out
//   items     planes * blocks of rows * blocks of columns
struct TransposePlan {
  int element_bytes = 4;          // 1, 2 or 4
  int64_t rows = 0, columns = 0;  // where they are constant; 0: as in dims
  static constexpr auto fields() {
    return std::tuple(field("element_bytes", &TransposePlan::element_bytes), field("rows", &TransposePlan::rows),
                      field("columns", &TransposePlan::columns));
  }
  static const KernelDef& kernel();
};

Support lower_transpose(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
