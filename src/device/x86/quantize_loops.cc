#include "device/x86/quantize_loops.h"

#include "kernels/elements.h"

namespace hone {
namespace {
Values kernel_pointers(Emitter& e, const KernelFrame& frame) {
  Values pointers;
  for (int i = 0; i < 6; ++i) pointers.push_back(e.kernel_pointer(frame, i));
  return pointers;
}
Values kernel_dims(Emitter& e, const KernelFrame& frame) {
  Values dims;
  for (int i = 0; i < 9; ++i) dims.push_back(e.kernel_dim(frame, i));
  return dims;
}
}  // namespace

QuantizeLoops::QuantizeLoops(Emitter& emitter, const QuantizePlan& quantize_plan, const std::string& symbol)
    : e(emitter),
      b(emitter.b),
      plan(quantize_plan),
      format(parse_format(plan.format)),
      programs(quantize_programs(format)),
      spans(quantize_spans(format)),
      group(spans == QuantizeSpans::groups ? format.geometry.columns : 0),
      frame(e.begin_kernel(symbol)),
      pointers(kernel_pointers(e, frame)),
      dims(kernel_dims(e, frame)) {}

llvm::Value* QuantizeLoops::load_x(llvm::Value* place, llvm::Value* mask) {
  return e.load_elements(plan.x, e.at(pointers[0], e.times(place, size_bytes(plan.x))), mask);
}

}  // namespace hone
