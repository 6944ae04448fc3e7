// The epilogue of what a product's tile leaves.
#pragma once

#include <string>

#include "device/llvm/epilogue.h"
#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"

namespace hone {

inline llvm::Function* emit_epilogue(X86Emitter& e, const std::string& symbol, const GemmPlan& plan,
                                     const GemmShape& shape) {
  return emit_epilogue(e, symbol, plan, SumTile{.vectors = shape.vectors, .integers = shape.integers()});
}

}  // namespace hone
