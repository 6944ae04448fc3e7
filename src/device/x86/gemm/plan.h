// What x86 decides of a matrix product beside its class.
#pragma once

#include <cstdint>

#include "kernels/gemm/plan.h"

namespace hone {

struct X86GemmPlan : GemmPlan {
  using Extends = GemmPlan;
  bool by_tiles = false;  // how prepacked weights lie
  // The M that there is code for, which may be any; with few of them code is shorter, and its results have the same
  // bits.
  struct Rows {
    int64_t least = 1, most = 0;    // most 0: no bound
    int shortest = 0, tallest = 0;  // heights of strips of many rows; 0: any
    static constexpr auto fields() {
      return std::tuple(field("least", &Rows::least), field("most", &Rows::most), field("shortest", &Rows::shortest),
                        field("tallest", &Rows::tallest));
    }
  };
  Rows rows;
  static constexpr auto fields() {
    return std::tuple_cat(GemmPlan::fields(),
                          std::tuple(field("by_tiles", &X86GemmPlan::by_tiles), field("rows", &X86GemmPlan::rows)));
  }
};

// With what launch() derives from the sizes.
struct X86GemmArgs : GemmArgs {
  int64_t block_rows = 0;  // rows of A in an item
  static constexpr auto places() {
    return std::tuple_cat(GemmArgs::places(), std::tuple(SizesFrom{13}, &X86GemmArgs::block_rows));
  }
};

}  // namespace hone
