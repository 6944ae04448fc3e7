// To a number format, to its codes, and back: when the class applies.
#include "kernels/quantize/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"fake_quant", "quantize", "quantize_dynamic"}); }

constexpr KernelClass<QuantizePlan> quantize{.name = "quantize",
                                             .doc = "elements rounded to a number format, packed and unpacked",
                                             .takes = takes,
                                             .lower = lower_quantize};

}  // namespace

extern constinit const KernelDef quantize_kernel_def = kernel_def<quantize>();
const KernelDef& QuantizePlan::kernel() { return quantize_kernel_def; }

}  // namespace hone
