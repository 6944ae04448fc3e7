// Panels that are laid out in scratch from an activation, while a kernel runs. The layout is that of
// device/x86/gemm/panel_layout.h.
#pragma once

#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"

namespace hone {

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
