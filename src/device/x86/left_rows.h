// Rows of a left factor as what multiplies them wants them, laid out in scratch while a kernel runs.
#pragma once

#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"

namespace hone {

// void(a, a_row_bytes, rows, k, scratch): rows of bf16 as f32, one behind the other.
llvm::Function* emit_widen_rows(X86Emitter& e, const std::string& symbol);

// Rows of `k` codes, i8 or u8, `row_bytes` apart in scratch.
struct CodeRows {
  DType from;
  CodeForm form;
  int64_t k, row_bytes;
};
// void(a, a_row_bytes, rows, k, scratch): lays such rows out. Words come as the even ones of each four k, then the odd
// ones; what a row has room for behind its last code is 0.
llvm::Function* emit_code_rows(X86Emitter& e, const std::string& symbol, const CodeRows& rows);

// One code as it is multiplied.
llvm::Value* multiplied_code(X86Emitter& e, CodeForm form, DType from, llvm::Value* code);

// void(from, to, quads): so many four codes likewise.
llvm::Function* emit_code_run(X86Emitter& e, const std::string& symbol, CodeForm form, DType from);

// void(a, k_bytes, rows, k, scratch): k rows of bf16, `k_bytes` apart, as `rows` columns: in scratch rows of k elements
// of `type` (f32 or bf16), `out_row_bytes` apart, of which as many as fill a vector are written.
llvm::Function* emit_turn_rows(X86Emitter& e, const std::string& symbol, DType type, int64_t out_row_bytes);

// void(a, k_bytes, rows, k, scratch): k columns of `rows` f32, `k_bytes` apart, apart by copied_column_bytes() in
// scratch.
llvm::Function* emit_copy_columns(X86Emitter& e, const std::string& symbol);
llvm::Value* copied_column_bytes(X86Emitter& e, llvm::Value* rows);  // GemmShape::column_bytes()

}  // namespace hone
