// Sums, maxima and minima of vectors, lane by lane.
#pragma once

#include "device/llvm/emitter.h"
#include "ir/op_def.h"

namespace hone {

// A vector of what nothing reduces to: 0, or the least or largest value.
llvm::Value* reduction_identity(Emitter& e, Reduction::Kind kind, Scalar type);

// x and y together. A NaN in either makes the result NaN; of two zeros, a maximum or minimum may be either.
llvm::Value* emit_reduction(Emitter& e, Reduction::Kind kind, Scalar type, llvm::Value* x, llvm::Value* y);

}  // namespace hone
