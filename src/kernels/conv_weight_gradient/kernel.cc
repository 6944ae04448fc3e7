// Gradients of the weights of convolutions: when the class applies.
#include "kernels/conv_weight_gradient/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"conv_weight_gradient"}); }

constexpr KernelClass<ConvWeightGradientPlan> conv_weight_gradient{
    .name = "conv_weight_gradient",
    .doc = "gradients of the weights of convolutions, as sums over places",
    .takes = takes,
    .lower = lower_conv_weight_gradient};

}  // namespace

extern constinit const KernelDef conv_weight_gradient_kernel_def = kernel_def<conv_weight_gradient>();
const KernelDef& ConvWeightGradientPlan::kernel() { return conv_weight_gradient_kernel_def; }

}  // namespace hone
