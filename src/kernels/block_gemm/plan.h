// Products of codes with scales of blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/args.h"
#include "kernels/epilogue.h"
#include "kernels/kernel.h"

namespace hone {

// C[M,N] = epilogue(sum over the blocks of K of their exact sums of products, scaled): docs/FORMATS.md, section 11.5.
//   items     parts of the rows and columns, as the device has them
//   program   arg 0 = the sum, f32; arg 1+i = epilogue operand i
struct BlockGemmPlan : Epilogue {
  int64_t n = 0, k = 0;
  std::string x_format;  // canonical; "": i8 whose scales are applied by the epilogue
  std::string w_format;
  static constexpr auto fields() {
    return std::tuple_cat(Epilogue::fields(), std::tuple(field("n", &BlockGemmPlan::n), field("k", &BlockGemmPlan::k),
                                                         field("x_format", &BlockGemmPlan::x_format),
                                                         field("w_format", &BlockGemmPlan::w_format)));
  }
  static const KernelDef& kernel();
};

struct BlockGemmArgs {
  void *a = nullptr, *w = nullptr;   // codes of A, bytes; W laid out for it (Prepacking)
  std::array<void*, 14> epilogue{};  // its operands, then results, then codes of the scales of A, where it has some
  int64_t m = 0;
  static constexpr auto places() {
    using A = BlockGemmArgs;
    return std::tuple(&A::a, &A::w, &A::epilogue, &A::m);
  }
};

Support lower_block_gemm(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
