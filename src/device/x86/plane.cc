#include "device/x86/plane.h"

namespace hone {

PlaneValues plane_values(X86Emitter& e, const PlaneWindow& window, bool any_plane, const KernelFrame& frame,
                         int sizes) {
  int position = sizes;
  const auto size = [&](int64_t constant) { return any_plane ? e.kernel_dim(frame, position++) : e.num(constant); };
  const auto of_window = [&](int64_t constant) {
    llvm::Value* value = constant ? e.num(constant) : e.kernel_dim(frame, position);
    ++position;
    return value;
  };
  return {.height = size(window.height),
          .width = size(window.width),
          .out_height = size(window.out_height),
          .out_width = size(window.out_width),
          .pad_top = size(window.pad_top),
          .pad_left = size(window.pad_left),
          .kernel_height = of_window(window.kernel_height),
          .kernel_width = of_window(window.kernel_width)};
}

}  // namespace hone
