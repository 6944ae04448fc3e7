// Bytes moved or cleared; nothing beyond them is touched. Straight code where their number is constant.
#pragma once

#include "codegen/llvm/emit.h"

namespace hone {

void emit_copy(Emitter& e, llvm::Value* from, llvm::Value* to, int64_t bytes);
void emit_zero(Emitter& e, llvm::Value* to, int64_t bytes);
void emit_copy(Emitter& e, llvm::Value* from, llvm::Value* to, llvm::Value* bytes);
void emit_zero(Emitter& e, llvm::Value* to, llvm::Value* bytes);

}  // namespace hone
