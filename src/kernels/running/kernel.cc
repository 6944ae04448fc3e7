// Running sums and products: when the class applies.
#include "kernels/running/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"cumsum", "cumprod", "reduce_prod"}); }

constexpr KernelClass<RunningPlan> running{.name = "running",
                                           .doc = "running sums and products along an axis, and whole products",
                                           .takes = takes,
                                           .lower = lower_running};

}  // namespace

extern constinit const KernelDef running_kernel_def = kernel_def<running>();
const KernelDef& RunningPlan::kernel() { return running_kernel_def; }

}  // namespace hone
