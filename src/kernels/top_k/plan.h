// The largest or smallest elements along an axis, and where they are.
#pragma once

#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// values[o, r, j] = x[o, indices[o, r, j], j], the r-th of x[o, :, j] in the order of the op; no two elements are equal
// in it, since of equal elements the place decides. So it does not matter how they are sorted.
// Items are outer * inner. NaN is larger than all numbers. `nan_first`: it comes first, among the smallest, too.
struct TopKPlan {
  DType dtype = DType::f32;
  bool largest = true;
  bool nan_first = false;
  bool last_first = false;  // of equal elements
  bool one = false;         // k is 1
  static constexpr auto fields() {
    return std::tuple(field("dtype", &TopKPlan::dtype), field("largest", &TopKPlan::largest),
                      field("nan_first", &TopKPlan::nan_first), field("last_first", &TopKPlan::last_first),
                      field("one", &TopKPlan::one));
  }
  // An element and its place are one integer, the larger the earlier: the element in the upper half.
  int64_t key_bytes() const { return size_bytes(dtype) == 8 ? 16 : 8; }
  static const KernelDef& kernel();
};

struct TopKArgs {
  void *x = nullptr, *values = nullptr, *indices = nullptr;  // values or null, indices or null
  int64_t outer = 0, length = 0, inner = 0, k = 0;
  static constexpr auto places() {
    using A = TopKArgs;
    return std::tuple(&A::x, &A::values, &A::indices, &A::outer, &A::length, &A::inner, &A::k);
  }
};

Support lower_top_k(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
