// Element by element: when the class applies.
#include "kernels/pointwise/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return op.pointwise != nullptr || op.moves; }

constexpr KernelClass<PointwisePlan> pointwise{
    .name = "pointwise", .doc = "element by element, broadcast and strided", .takes = takes, .lower = lower_pointwise};

}  // namespace

extern constinit const KernelDef pointwise_kernel_def = kernel_def<pointwise>();
const KernelDef& PointwisePlan::kernel() { return pointwise_kernel_def; }

}  // namespace hone
