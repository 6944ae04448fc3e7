// Operands of pointwise ops that are not defined for every element type: each function gives operand i, or an Error
// that says which types would do.
#pragma once

#include "ir/op_def.h"

namespace hone {

inline const Expr& real_operand(Args a, size_t i) {
  if (!is_float(a.dtypes[i]))
    fail("operand {} has elements of type {}; accepted: f64, f32, bf16, f16. Insert a cast", i, to_string(a.dtypes[i]));
  return a[i];
}

inline const Expr& number_operand(Args a, size_t i) {
  if (a.dtypes[i] == DType::boolean) fail("operand {} has elements of type bool; accepted: numbers. Insert a cast", i);
  return a[i];
}

inline const Expr& boolean_operand(Args a, size_t i) {
  if (a.dtypes[i] != DType::boolean)
    fail("operand {} has elements of type {}; accepted: bool. Compare it with 0", i, to_string(a.dtypes[i]));
  return a[i];
}

inline bool is_unsigned(DType dtype) { return is_integer(dtype) && !is_signed(compute_scalar(dtype)); }

}  // namespace hone
