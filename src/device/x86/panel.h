// Panels that are built in scratch while a kernel runs: decoded from packed weights, or laid out from an activation.
// The layout is that of device/x86/gemm/panel_layout.h.
#pragma once

#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"
#include "formats/format.h"

namespace hone {

// void(panel, first, scratch): decodes shape.block_k() of one prepacked panel from `first` on; rows of scratch are
// `out_row_bytes` apart. Scales are folded in unless shape.scale_in_loop(): into f32 with the one rounding of the
// format's decode rule; into bf16 pairs where that is exact while the product is a normal number (below 2^-126 bits are
// cut off, and the dot product counts it as 0 anyway). A global scale that is left for the sums is not.
llvm::Function* emit_unpack(X86Emitter& e, const std::string& symbol, const GemmShape& shape, const Format& format,
                            int64_t out_row_bytes);

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

struct PackSpec {
  DType w = DType::f32;              // f32 or bf16
  PanelType panel = PanelType::f32;  // pairs only from bf16
  int vectors = 1;
};
// void(w, row_bytes, k, columns, scratch): lays out k x columns elements of a matrix whose rows are inputs (kn: element
// [k, n]) or outputs (nk: element [n, k]); `w` is the panel's first element, `columns` the valid ones, the rest becomes
// 0.
llvm::Function* emit_pack_kn(X86Emitter& e, const std::string& symbol, const PackSpec& spec);
llvm::Function* emit_pack_nk(X86Emitter& e, const std::string& symbol, const PackSpec& spec);

}  // namespace hone
