#include "device/x86/quantize_loops.h"

#include "kernels/elements.h"

namespace hone {
namespace {
Values all_pointers(X86Emitter& e, const KernelFrame& frame) {
  Values pointers;
  for (int i = 0; i <= place_of<&QuantizeArgs::counts>; ++i) pointers.push_back(e.kernel_pointer(frame, i));
  return pointers;
}
Values all_sizes(X86Emitter& e, const KernelFrame& frame) {
  Values sizes;
  for (int i = 0; i <= place_of<&QuantizeArgs::part_count>; ++i) sizes.push_back(e.kernel_dim(frame, i));
  return sizes;
}
}  // namespace

QuantizeLoops::QuantizeLoops(X86Emitter& emitter, const QuantizePlan& quantize_plan, const std::string& symbol)
    : e(emitter),
      b(emitter.b),
      plan(quantize_plan),
      format(parse_format(plan.format)),
      programs(quantize_programs(format)),
      spans(quantize_spans(format)),
      group(spans == QuantizeSpans::groups ? format.geometry.columns : 0),
      frame(e.begin_kernel(symbol)),
      pointers_(all_pointers(e, frame)),
      sizes_(all_sizes(e, frame)) {}

llvm::Value* QuantizeLoops::load_x(llvm::Value* place, llvm::Value* mask) {
  return e.load_elements(plan.x, e.at(pointer<&A::x>(), e.times(place, size_bytes(plan.x))), mask);
}

}  // namespace hone
