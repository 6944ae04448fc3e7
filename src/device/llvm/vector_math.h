// exp log tanh erf sin cos pow over vectors.
//
// f32: branch-free polynomials within kMaxUlpF32 (tests/device/x86/expr_test.cc measures each), special values as in
// C99 Annex F, subnormals kept. f64: the C library, lane by lane.
#pragma once

#include "device/llvm/emitter.h"
#include "expr/expr.h"

namespace hone {

// `x` (and `y` for pow) are vectors of e.lanes f32 or f64.
llvm::Value* vector_function(Emitter& e, ExprOp op, llvm::Value* x, llvm::Value* y = nullptr);

// f32 only, for generators that need just one.
llvm::Value* vector_exp(Emitter& e, llvm::Value* x);

// 2^x of f32 for x <= 0, by a polynomial of this degree: its error is 1e-7 for degree 5, 1e-4 for degree 3, relative.
// Results below 2^-125 may be 0; -inf gives 0, NaN stays.
llvm::Value* vector_exp2_below_one(Emitter& e, llvm::Value* x, int degree);

}  // namespace hone
