// Rows and columns exchanged: when the class applies.
#include "kernels/transpose/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"transpose"}); }

constexpr KernelClass<TransposePlan> transpose{.name = "transpose",
                                               .doc = "planes with rows and columns exchanged",
                                               .takes = takes,
                                               .precedence = 1,  // before pointwise, which takes all that move
                                               .lower = lower_transpose};

}  // namespace

extern constinit const KernelDef transpose_kernel_def = kernel_def<transpose>();
const KernelDef& TransposePlan::kernel() { return transpose_kernel_def; }

}  // namespace hone
