// Lays a constant weight [N,K] out once for the kernels that will read it. The layout depends on the plan and the
// target only.
#pragma once

#include "device/x86/gemm/panel_layout.h"
#include "ir/tensor.h"
#include "kernels/packed_rows.h"

namespace hone {

// What the layout depends on, as text: plans that differ only in their rows and epilogues have equal keys.
std::string prepack_key(const X86GemmPlan& plan, const X86Target& target);
int64_t prepacked_bytes(const X86GemmPlan& plan, const X86Target& target);
// `weights` is f32 or bf16 [N,K] (as plan.w) or packed in plan.w_format.
void prepack(const X86GemmPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out);

// For other classes whose weights are such panels: rows [first_row, first_row + layout.n) of the weights at `base`.
void lay_out_panels(const PanelLayout& layout, const Tensor& weights, int64_t first_row, int threads, std::byte* base);
// Gives back pages of rows [first, last) of a plane whose rows are `row_bytes` long.
void drop_rows(const Buffer& plane, int64_t row_bytes, int64_t first, int64_t last);

}  // namespace hone
