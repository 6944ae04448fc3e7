// Bytes moved or cleared; nothing beyond them is touched. Straight code where their number is constant.
#pragma once

#include "device/x86/emitter.h"

namespace hone {

void emit_copy(X86Emitter& e, llvm::Value* from, llvm::Value* to, int64_t bytes);
void emit_zero(X86Emitter& e, llvm::Value* to, int64_t bytes);
void emit_copy(X86Emitter& e, llvm::Value* from, llvm::Value* to, llvm::Value* bytes);
void emit_zero(X86Emitter& e, llvm::Value* to, llvm::Value* bytes);

// `rows` rows of `bytes`, at most 64, that lie from_stride apart, as rows of 64 bytes that are filled up with zeros.
void emit_filled_rows(X86Emitter& e, llvm::Value* from, llvm::Value* from_stride, llvm::Value* to, llvm::Value* rows,
                      llvm::Value* bytes);

// The first `bytes` of a vector of 64 in one load, of AVX-512; zeros behind them. As v_i32.
llvm::Value* load_first(X86Emitter& e, llvm::Value* from, llvm::Value* bytes);

}  // namespace hone
