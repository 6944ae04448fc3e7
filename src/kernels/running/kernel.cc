// Running sums and products: when the class applies.
#include "kernels/running/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) {
  return is_one_of(op, {"cumsum", "cumprod", "reduce_prod", "reduce_sum", "reduce_max", "reduce_min"});
}

constexpr KernelClass<RunningPlan> running{.name = "running",
                                           .doc = "running sums and products along an axis, and reductions of integers",
                                           .takes = takes,
                                           .precedence = -1,  // behind row and columns, which reduce f32
                                           .lower = lower_running};

}  // namespace

extern constinit const KernelDef running_kernel_def = kernel_def<running>();
const KernelDef& RunningPlan::kernel() { return running_kernel_def; }

}  // namespace hone
