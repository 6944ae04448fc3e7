// Top-k and argmax: when the class applies.
#include "kernels/top_k/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"top_k", "argmax", "argmin"}); }

constexpr KernelClass<TopKPlan> top_k{.name = "top_k",
                                      .doc = "the largest or smallest elements along an axis, and where they are",
                                      .takes = takes,
                                      .lower = lower_top_k};

}  // namespace

extern constinit const KernelDef top_k_kernel_def = kernel_def<top_k>();
const KernelDef& TopKPlan::kernel() { return top_k_kernel_def; }

}  // namespace hone
