// Window kernels: when the class applies.
#include "kernels/reduce_window/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"conv", "max_pool", "avg_pool"}); }

constexpr KernelClass<ReduceWindowPlan> window{
    .name = "window",
    .doc = "pools, depthwise convolutions and other reductions of each channel under a window",
    .takes = takes,
    .group = kEpilogueRules,
    .lower = lower_window};

}  // namespace

extern constinit const KernelDef window_kernel_def = kernel_def<window>();
const KernelDef& ReduceWindowPlan::kernel() { return window_kernel_def; }

}  // namespace hone
