// What x86 decides of a product with scales of blocks beside its class.
#pragma once

#include <cstdint>

#include "kernels/block_gemm/plan.h"

namespace hone {

struct X86BlockGemmPlan : BlockGemmPlan {
  using Extends = BlockGemmPlan;
  bool by_tiles = false;          // how many rows are multiplied
  int shortest = 1, tallest = 0;  // heights of strips that there is code for; tallest 0: any
  static constexpr auto fields() {
    using P = X86BlockGemmPlan;
    return std::tuple_cat(
        BlockGemmPlan::fields(),
        std::tuple(field("by_tiles", &P::by_tiles), field("shortest", &P::shortest), field("tallest", &P::tallest)));
  }
};

// With what launch() derives from the sizes.
struct X86BlockGemmArgs : BlockGemmArgs {
  int64_t block_rows = 0;  // rows of A in an item
  static constexpr auto places() {
    return std::tuple_cat(BlockGemmArgs::places(), std::tuple(&X86BlockGemmArgs::block_rows));
  }
};

}  // namespace hone
