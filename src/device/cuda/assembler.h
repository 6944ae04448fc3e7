// PTX in, a cubin out, by the driver's own compiler.
#pragma once

#include "device/cuda/context.h"
#include "device/llvm/object_library.h"

namespace hone {

// For any number of threads at once. Throws Error, with what the driver says of the text, where it refuses it, or where
// the text is newer than the driver. What spills registers is compiled again for fewer blocks at a time.
Assembled assemble_ptx(CudaContext& context, std::span<const std::byte> ptx, const std::string& symbol);

// Whether the driver's log of a compilation tells of registers that were spilled to memory.
bool tells_of_spills(std::string_view log);

}  // namespace hone
