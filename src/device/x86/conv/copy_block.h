// What a block of output rows sees of x, copied to scratch as it is multiplied (shape.h).
#pragma once

#include <string>

#include "device/x86/conv/shape.h"
#include "device/x86/emitter.h"
#include "device/x86/plane.h"

namespace hone {

// A size that is constant or, for any plane, what launch() has derived from that of a call.
llvm::Value* conv_size(X86Emitter& e, const X86ConvPlan& plan, const KernelFrame& frame, int64_t constant, int derived);

struct ConvSizes {
  PlaneValues plane;
  llvm::Value *row_bytes = nullptr, *block_rows = nullptr, *blocks = nullptr;
};
ConvSizes conv_sizes(X86Emitter& e, const X86ConvPlan& plan, const ConvShape& shape, const KernelFrame& frame);

// void(args, x, first, scratch): rows first, first + 1, … of a plane (of one group's channels), padding outside it.
llvm::Function* emit_copy_block(X86Emitter& e, const std::string& symbol, const X86ConvPlan& plan,
                                const ConvShape& shape);

}  // namespace hone
