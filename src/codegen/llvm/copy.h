// Bytes moved or cleared, as many as the generated code is made for; nothing beyond them is touched.
#pragma once

#include "codegen/llvm/emit.h"

namespace hone {

void emit_copy(Emitter& e, llvm::Value* from, llvm::Value* to, int64_t bytes);
void emit_zero(Emitter& e, llvm::Value* to, int64_t bytes);

}  // namespace hone
