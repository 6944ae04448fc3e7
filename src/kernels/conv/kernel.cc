// Convolutions: when the class applies.
#include "kernels/conv/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// Of conv_transpose only what no convolutions were made of is left, and refused with the reason.
bool takes(const OpDef& op) { return is_one_of(op, {"conv", "conv_input_gradient", "conv_transpose"}); }

constexpr KernelClass<ConvPlan> conv{
    .name = "conv",
    .doc = "convolutions and gradients of their inputs, as implicit products or by Winograd",
    .takes = takes,
    .precedence = 1,  // before window, which takes depthwise ones
    .group = kEpilogueRules,
    .lower = lower_conv};

}  // namespace

extern constinit const KernelDef conv_kernel_def = kernel_def<conv>();
const KernelDef& ConvPlan::kernel() { return conv_kernel_def; }

}  // namespace hone
