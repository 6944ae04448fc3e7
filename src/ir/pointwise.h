// Pointwise ops: what follows from an OpDef that only has `pointwise`. Result shape: operand shapes broadcast. Result
// dtype: the attribute `dtype` where the node has one; otherwise from the expression's type: boolean is bool, and a
// number has the dtype that all operands computed in that type share (so bf16 + bf16 is bf16), or the plain dtype of
// the scalar when they differ (bf16 + f32 is f32).
#pragma once

#include <span>
#include <vector>

#include "expr/program.h"
#include "ir/op_def.h"

namespace hone {

// The op applied to element expressions, each of compute_scalar(its dtype); an empty Expr stands for an absent operand.
// Throws Error when the element types do not go together.
Expr pointwise_expr(const OpDef& op, std::span<const Expr> operands, std::span<const DType> dtypes,
                    const Attributes& attributes);

// The same with arg(i) for operand i, flattened. `dtypes` covers present operands only where `present` is empty;
// otherwise absent ones are false there.
Program pointwise_program(const OpDef& op, std::span<const DType> dtypes, const Attributes& attributes,
                          std::span<const bool> present = {});

DType pointwise_dtype(Scalar result, std::span<const DType> dtypes, const Attributes& attributes,
                      std::span<const bool> present = {});

std::vector<TensorType> infer_pointwise(const OpDef& op, const InferArgs& args);

// Runs the expression through the interpreter for every element of the broadcast shape.
std::vector<Tensor> eval_pointwise(const OpDef& op, const EvalArgs& args);

// `program` over tensors that broadcast to `shape`, in its first result's scalar; operands it does not read may be
// nullptr.
Tensor map_elements(const Program& program, std::span<const Tensor* const> operands, std::vector<int64_t> shape);

}  // namespace hone
