// Products of codes with scales of blocks.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/epilogue.h"
#include "kernels/kernel.h"

namespace hone {

// C[M,N] = epilogue(sum over the blocks of K of their exact sums of products, scaled): docs/FORMATS.md, section 11.5.
//   pointers  [0] codes of A, bytes, [1] W laid out for it (Prepacking), then epilogue operands, then results,
//             then codes of the scales of A, where it has some
//   dims      [0] M, [1] rows of A in an item, from launch(); as in a gemm plan, [14] and on are 0
//   items     parts of the rows and columns, as the device has them
//   program   arg 0 = the sum, f32; arg 1+i = epilogue operand i
struct BlockGemmPlan : Epilogue {
  int64_t n = 0, k = 0;
  std::string x_format;  // canonical; "": i8 whose scales are applied by the epilogue
  std::string w_format;
  bool by_tiles = false;          // of the device: how many rows are multiplied
  int shortest = 1, tallest = 0;  // of the device: heights of strips that there is code for; tallest 0: any
  static constexpr auto fields() {
    return std::tuple_cat(
        Epilogue::fields(),
        std::tuple(field("n", &BlockGemmPlan::n), field("k", &BlockGemmPlan::k),
                   field("x_format", &BlockGemmPlan::x_format), field("w_format", &BlockGemmPlan::w_format),
                   field("by_tiles", &BlockGemmPlan::by_tiles), field("shortest", &BlockGemmPlan::shortest),
                   field("tallest", &BlockGemmPlan::tallest)));
  }
  static const KernelDef& kernel();
};

inline constexpr int kBlockGemmRows = 1;  // position in dims

Support lower_block_gemm(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
