// Rows of a packed table, decoded from the storage layout of its format (docs/FORMATS.md, section 3.5).
#pragma once

#include "device/x86/emitter.h"
#include "kernels/gather/plan.h"

namespace hone {

// void(args, row, destination): decodes row `row` of the table of a gather plan's arguments, bit for bit as unpack()
// does.
llvm::Function* emit_row_decoder(X86Emitter& e, const std::string& symbol, const GatherPlan& plan);

}  // namespace hone
