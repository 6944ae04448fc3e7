#include "device/cuda/conv/window_operand.h"

namespace hone {

WindowOperand::WindowOperand(CudaEmitter& e, const ConvPlan& plan, const KernelFrame& frame, llvm::Value* x,
                             llvm::Value* rows)
    : e_(e), plan_(plan), rows_(rows) {
  const auto size = [&](int i) { return e.low32(e.size<&ConvArgs::window>(frame, i)); };
  height_ = size(0), width_ = size(1), out_height_ = size(2), out_width_ = size(3), top_ = size(4), left_ = size(5);
  dtype = plan.product.a, safe = x;
  const int64_t whole_elements = 16 / size_bytes(dtype);
  if (plan.channels % whole_elements == 0)
    whole = e.b.CreateICmpEQ(e.b.CreateAnd(e.b.CreatePtrToInt(x, e.i64), e.num(15)), e.num(0));
}

Operand::Place WindowOperand::place(llvm::Value* row, llvm::Value* k) {
  auto& b = e_.b;
  const PlaneWindow& w = plan_.window;
  llvm::Value *ox = b.CreateURem(row, out_width_), *line = b.CreateUDiv(row, out_width_);
  llvm::Value *oy = b.CreateURem(line, out_height_), *image = b.CreateUDiv(line, out_height_);
  llvm::Value *tap = b.CreateUDiv(k, e_.n32(plan_.channels)), *channel = b.CreateURem(k, e_.n32(plan_.channels));
  llvm::Value *ky = b.CreateUDiv(tap, e_.n32(w.kernel_width)), *kx = b.CreateURem(tap, e_.n32(w.kernel_width));
  const auto at = [&](llvm::Value* place, int64_t stride, llvm::Value* number, int64_t dilation, llvm::Value* before) {
    llvm::Value* tapped = b.CreateAdd(b.CreateMul(place, e_.n32(stride)), b.CreateMul(number, e_.n32(dilation)));
    return b.CreateSub(tapped, before);
  };
  llvm::Value *y = at(oy, w.stride_y, ky, w.dilation_y, top_), *x = at(ox, w.stride_x, kx, w.dilation_x, left_);
  // A place before the plane is a large number without sign.
  llvm::Value* is_there = b.CreateAnd(b.CreateICmpULT(y, height_), b.CreateICmpULT(x, width_));
  is_there =
      b.CreateAnd(is_there, b.CreateAnd(b.CreateICmpSLT(row, rows_), b.CreateICmpSLT(k, e_.n32(plan_.product.k))));
  llvm::Value *height = e_.wide(height_), *width = e_.wide(width_);
  llvm::Value* line_of_x = b.CreateAdd(b.CreateMul(e_.wide(image), height), e_.wide(y));
  llvm::Value* pixel = b.CreateAdd(b.CreateMul(line_of_x, width), e_.wide(x));
  llvm::Value* element = b.CreateAdd(e_.times(pixel, plan_.groups * plan_.channels), e_.wide(channel));
  return {e_.at(safe, e_.times(element, size_bytes(dtype))), is_there};
}

}  // namespace hone
