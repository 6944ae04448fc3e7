// The sizes of a plane and its window as code reads them: constants, or what the call says.
#pragma once

#include "device/x86/emitter.h"
#include "kernels/plane_window.h"

namespace hone {

struct PlaneValues {
  llvm::Value *height, *width, *out_height, *out_width, *pad_top, *pad_left;
  llvm::Value *kernel_height, *kernel_width;  // constants wherever the plan has them
};

// Of a call whose WindowSizes have their place at `sizes` (place_of). Loads stand where the builder is.
PlaneValues plane_values(X86Emitter& e, const PlaneWindow& window, bool any_plane, const KernelFrame& frame, int sizes);

}  // namespace hone
