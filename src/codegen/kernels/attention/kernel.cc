// What follows from the plan of attention.
#include <algorithm>

#include "codegen/kernels/attention/shape.h"

namespace hone {
namespace {

// An item is a few million multiply-adds; short ones are handed out together until they take about 20 us.
KernelNeeds needs(const AttentionPlan& plan, const Target& target) {
  const int64_t flops = 4 * std::min(kQueriesPerItem, plan.max_length) * plan.max_length * plan.head_dim;
  return {.scratch_bytes = attention_shape(plan, target).scratch_bytes,
          .items_per_chunk = std::max<int64_t>(1, (int64_t{1} << 20) / flops)};
}

int64_t items(const AttentionPlan& plan, const Target&, const KernelArgs& args) {
  return attention_items(plan, args.dims[0], args.dims[1]);
}

std::string describe(const AttentionPlan& plan, const Target&) {
  return fmt::format("{} heads of {}{}, {} operands", plan.heads, plan.head_dim, plan.causal ? ", causal" : "",
                     to_string(plan.dtype));
}

bool can_shrink(const AttentionPlan& plan, const Target& target, int shrink) {
  return attention_shape(plan, target, shrink).rows < attention_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const AttentionPlan&) { return {0.75, 0.3}; }

constexpr KernelClass<AttentionPlan> attention{.name = "attention",
                                               .doc = "attention: scores, softmax and values in one kernel",
                                               .supports = attention_refusal,
                                               .needs = needs,
                                               .items = items,
                                               .describe = describe,
                                               .can_shrink = can_shrink,
                                               .speed = speed};

}  // namespace

extern constinit const KernelDef attention_kernel_def = kernel_def<attention>();
const KernelDef& AttentionPlan::kernel() { return attention_kernel_def; }

}  // namespace hone
