// What follows from the plan of top-k.
#include <algorithm>
#include <cmath>

#include "kernels/elements.h"
#include "kernels/top_k/plan.h"

namespace hone {
namespace {

Support supports(const TopKPlan& plan, const Target&) {
  if (!has_machine_type(plan.dtype)) return {fmt::format("elements of type {}", to_string(plan.dtype))};
  return {};
}

// Each element is compared with the least of those kept; these are a heap, which is sorted at the end.
Launch launch(const TopKPlan& plan, const Target&, KernelArgs& args) {
  const auto length = static_cast<double>(args.dims[1]), k = static_cast<double>(args.dims[3]);
  const double ns = plan.one ? 1.5 * length : 2 * length + 5 * k * std::log2(k + 2);
  return {.items = args.dims[0] * args.dims[2],
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 5))),
          .scratch_bytes = plan.one ? 0 : args.dims[3] * plan.key_bytes()};
}

std::string describe(const TopKPlan& plan, const Target&) {
  return fmt::format("the {} {} of an axis", plan.largest ? "largest" : "smallest", to_string(plan.dtype));
}

bool takes(const OpDef& op) { return is_one_of(op, {"top_k", "argmax", "argmin"}); }

constexpr KernelClass<TopKPlan> top_k{.name = "top_k",
                                      .doc = "the largest or smallest elements along an axis, and where they are",
                                      .takes = takes,
                                      .lower = lower_top_k,
                                      .supports = supports,
                                      .launch = launch,
                                      .describe = describe};

}  // namespace

extern constinit const KernelDef top_k_kernel_def = kernel_def<top_k>();
const KernelDef& TopKPlan::kernel() { return top_k_kernel_def; }

}  // namespace hone
