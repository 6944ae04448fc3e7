// Elements of tensors as scalar expressions read and write them: in the compute scalar of their dtype (ir/type.h).
#pragma once

#include "expr/program.h"
#include "ir/tensor.h"

namespace hone {

// `tensor` as an array of its compute scalar, which keeps the value of every element; packed tensors as f32. No copy
// where the dtype is its own compute scalar.
class ComputeColumn {
 public:
  explicit ComputeColumn(const Tensor& tensor);
  Scalar scalar() const { return compute_scalar(tensor_.dtype()); }
  const void* data() const { return tensor_.data().bytes().data(); }
  const Tensor& tensor() const { return tensor_; }  // of the dtype that the scalar is

 private:
  Tensor tensor_;
};

// Elements in `scalars` (of compute_scalar(dtype)) stored as `dtype`: floats are rounded once to nearest even, integers
// wrap.
Tensor store_column(DType dtype, const Tensor& scalars);

DType dtype_of(Scalar scalar);  // the plain dtype that holds it

// x as an element of `dtype`, in compute_scalar(dtype): the rule of the op `cast`. As cast in expr/expr.h, to the range
// of the narrow type: float to integer saturates at the dtype's own bounds, integer to integer wraps (when stored).
Expr cast_element(DType dtype, Expr x);

}  // namespace hone
