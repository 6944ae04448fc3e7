// What follows from the plan of running extremes.
#include <algorithm>

#include "base/multiples.h"
#include "kernels/cumulative/plan.h"
#include "kernels/elements.h"

namespace hone {
namespace {

Support supports(const CumulativePlan& plan, const Target&) {
  if (!has_machine_type(plan.dtype)) return {fmt::format("elements of type {}", to_string(plan.dtype))};
  return {};
}

Launch launch(const CumulativePlan& plan, const Target& target, KernelArgs& args) {
  const int64_t lanes = target.lanes(), length = args.dims[1];
  const double ns = plan.along ? 4 * static_cast<double>(ceil_div(length, lanes)) : 1.5 * static_cast<double>(length);
  return {.items = args.dims[0] * ceil_div(args.dims[2], lanes),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 5)))};
}

std::string describe(const CumulativePlan& plan, const Target& target) {
  return fmt::format("{} {} {} at a time, {}", plan.largest ? "largest" : "smallest", target.lanes(),
                     to_string(plan.dtype), plan.along ? "along the axis" : "beside each other");
}

bool takes(const OpDef& op) { return is_one_of(op, {"cummax", "cummin"}); }

constexpr KernelClass<CumulativePlan> cumulative{.name = "cumulative",
                                                 .doc = "running maxima and minima along an axis",
                                                 .takes = takes,
                                                 .lower = lower_cumulative,
                                                 .supports = supports,
                                                 .launch = launch,
                                                 .describe = describe};

}  // namespace

extern constinit const KernelDef cumulative_kernel_def = kernel_def<cumulative>();
const KernelDef& CumulativePlan::kernel() { return cumulative_kernel_def; }

}  // namespace hone
