// What follows from the plan of attention's gradients.
#include <algorithm>

#include "device/x86/attention_gradient/shape.h"
#include "ops/calls.h"

namespace hone {
namespace {

// An item is millions of multiply-adds; short ones are handed out together until they take about 20 us.
Launch launch(const AttentionGradientPlan& plan, const Target& target, KernelArgs& args) {
  const AttentionPlan& attention = plan.attention;
  const int64_t queries = std::max<int64_t>(1, args.dims[1]), keys = std::max<int64_t>(1, args.dims[2]);
  const double flops = 10.0 * static_cast<double>(queries) * static_cast<double>(keys) * attention.head_dim *
                       (attention.heads / attention.kv_heads);
  return {.items = args.dims[0] * attention.kv_heads,
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(1e6 / flops)),
          .scratch_bytes = attention_gradient_shape(plan, target).scratch_bytes};
}

std::string describe(const AttentionGradientPlan& plan, const Target&) {
  return fmt::format("{} heads of {}{}, weights computed again", plan.attention.heads, plan.attention.head_dim,
                     plan.attention.limited ? ", causal" : "");
}

bool can_shrink(const AttentionGradientPlan& plan, const Target& target, int shrink) {
  return attention_gradient_shape(plan, target, shrink).tiles.rows <
         attention_gradient_shape(plan, target, shrink - 1).tiles.rows;
}

KernelSpeed speed(const AttentionGradientPlan&, const Target&) { return {0.75, 0.3}; }

bool takes(const OpDef& op) { return is_one_of(op, {"attention_gradient"}); }

constexpr KernelClass<AttentionGradientPlan> attention_gradient{
    .name = "attention_gradient",
    .doc = "gradients of attention, whose weights are computed again",
    .takes = takes,
    .lower = lower_attention_gradient,
    .supports = attention_gradient_support,
    .launch = launch,
    .describe = describe,
    .can_shrink = can_shrink,
    .speed = speed};

}  // namespace

extern constinit const KernelDef attention_gradient_kernel_def = kernel_def<attention_gradient>();
const KernelDef& AttentionGradientPlan::kernel() { return attention_gradient_kernel_def; }

}  // namespace hone
