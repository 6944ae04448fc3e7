// Running extremes: when the class applies.
#include "kernels/cumulative/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"cummax", "cummin"}); }

constexpr KernelClass<CumulativePlan> cumulative{
    .name = "cumulative", .doc = "running maxima and minima along an axis", .takes = takes, .lower = lower_cumulative};

}  // namespace

extern constinit const KernelDef cumulative_kernel_def = kernel_def<cumulative>();
const KernelDef& CumulativePlan::kernel() { return cumulative_kernel_def; }

}  // namespace hone
