// What windows see of a plane, as the rows of a product: row = image, y and x of a result, k = tap and channel.
#pragma once

#include "device/cuda/conv/plan.h"
#include "device/cuda/gemm/operand.h"

namespace hone {

class WindowOperand : public Operand {
 public:
  // `x`: of image 0 and the group's first channel; `rows`: i32. Sizes of the plane are among the arguments.
  WindowOperand(CudaEmitter& e, const ConvPlan& plan, const KernelFrame& frame, llvm::Value* x, llvm::Value* rows);
  Place place(llvm::Value* row, llvm::Value* k) override;

 private:
  CudaEmitter& e_;
  const ConvPlan& plan_;
  llvm::Value *rows_, *height_, *width_, *out_height_, *out_width_, *top_, *left_;
};

// Whether rows of the product are those of x as they lie.
inline bool sees_one_place(const ConvPlan& plan) {
  const PlaneWindow& w = plan.window;
  return w.taps() == 1 && w.stride_x == 1 && w.stride_y == 1 && !plan.leaves_plane;
}

}  // namespace hone
