// Gradients of attention: when the class applies.
#include "kernels/attention_gradient/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"attention_gradient"}); }

constexpr KernelClass<AttentionGradientPlan> attention_gradient{
    .name = "attention_gradient",
    .doc = "gradients of attention, whose weights are computed again",
    .takes = takes,
    .lower = lower_attention_gradient};

}  // namespace

extern constinit const KernelDef attention_gradient_kernel_def = kernel_def<attention_gradient>();
const KernelDef& AttentionGradientPlan::kernel() { return attention_gradient_kernel_def; }

}  // namespace hone
