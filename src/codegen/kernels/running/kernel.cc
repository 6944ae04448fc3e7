// What follows from the plan of running sums.
#include <algorithm>

#include "base/multiples.h"
#include "codegen/elements.h"
#include "codegen/kernels/running/plan.h"

namespace hone {
namespace {

Support supports(const RunningPlan& plan, const Target&) {
  if (!is_loadable(plan.dtype) || plan.dtype == DType::boolean)
    return {fmt::format("elements of type {}", to_string(plan.dtype))};
  if (plan.dtype == DType::f16 || plan.dtype == DType::bf16)
    return {fmt::format("sums that are rounded to {}", to_string(plan.dtype))};
  if ((plan.joins == RunningPlan::Joins::max || plan.joins == RunningPlan::Joins::min) && is_float(plan.dtype))
    return {fmt::format("extremes of {}", to_string(plan.dtype))};
  return {};
}

// A step waits for the one before it, some four cycles.
Launch launch(const RunningPlan&, const Target& target, KernelArgs& args) {
  const double ns = 1.5 * static_cast<double>(args.dims[1]);
  return {.items = args.dims[0] * ceil_div(args.dims[2], int64_t{target.lanes()}),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 5)))};
}

std::string describe(const RunningPlan& plan, const Target& target) {
  constexpr const char* kNames[] = {"sums", "products", "maxima", "minima"};
  return fmt::format("{}{} of {}, {} at a time", plan.whole ? "" : "running ", kNames[static_cast<size_t>(plan.joins)],
                     to_string(plan.dtype), plan.single ? 1 : target.lanes());
}

bool takes(const OpDef& op) {
  return is_one_of(op, {"cumsum", "cumprod", "reduce_prod", "reduce_sum", "reduce_max", "reduce_min"});
}

constexpr KernelClass<RunningPlan> running{.name = "running",
                                           .doc = "running sums and products along an axis, and reductions of integers",
                                           .takes = takes,
                                           .precedence = -1,  // behind row and columns, which reduce f32
                                           .lower = lower_running,
                                           .supports = supports,
                                           .launch = launch,
                                           .describe = describe};

}  // namespace

extern constinit const KernelDef running_kernel_def = kernel_def<running>();
const KernelDef& RunningPlan::kernel() { return running_kernel_def; }

}  // namespace hone
