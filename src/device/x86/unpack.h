// Panels that are decoded in scratch from packed weights, while a kernel runs. The layout is that of
// device/x86/gemm/panel_layout.h.
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

}  // namespace hone
