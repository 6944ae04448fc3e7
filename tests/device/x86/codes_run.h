// Products of codes: their plan and operands.
#pragma once

#include <vector>

#include "tests/device/x86/gemm_run.h"

namespace hone::test {

// Of the whole range, and its ends often.
inline Tensor random_codes(DType dtype, const std::vector<int64_t>& shape, Philox& rng) {
  const int64_t low = dtype == DType::i8 ? -128 : 0;
  std::vector<int64_t> codes(static_cast<size_t>(element_count(shape)));
  for (int64_t& code : codes) {
    const int64_t any = rng.below(256), choice = rng.below(4);
    code = low + (choice == 0 ? 0 : choice == 1 ? 255 : any);
  }
  return Tensor::of<int64_t>(shape, codes).converted(dtype);
}

inline X86GemmPlan codes_plan(int64_t n, int64_t k, DType a) {
  X86GemmPlan plan = plain_plan(n, k, a, DType::i8, DType::i32);
  plan.program = flatten(Expr::arg(0, Scalar::i32));
  return plan;
}

}  // namespace hone::test
