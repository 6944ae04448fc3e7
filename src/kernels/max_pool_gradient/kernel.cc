// Gradients of largest elements: when the class applies.
#include "kernels/max_pool_gradient/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"max_pool_gradient"}); }

constexpr KernelClass<MaxPoolGradientPlan> max_pool_gradient{.name = "max_pool_gradient",
                                                             .doc = "gradients of the largest elements under a window",
                                                             .takes = takes,
                                                             .lower = lower_max_pool_gradient};

}  // namespace

extern constinit const KernelDef max_pool_gradient_kernel_def = kernel_def<max_pool_gradient>();
const KernelDef& MaxPoolGradientPlan::kernel() { return max_pool_gradient_kernel_def; }

}  // namespace hone
