// Attention's gradients on x86: launches, reports, and plans by the length of keys (shape.h).
#include <algorithm>
#include <utility>

#include "device/x86/attention_gradient/shape.h"
#include "device/x86/x86_kernel.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

// An item is millions of multiply-adds; short ones are handed out together until they take about 20 us.
Launch launch(const X86AttentionGradientPlan& plan, const X86Target& target, AttentionGradientArgs& args) {
  const AttentionPlan& attention = plan.attention;
  const int64_t queries = std::max<int64_t>(1, args.queries), keys = std::max<int64_t>(1, args.keys);
  const double flops = 10.0 * static_cast<double>(queries) * static_cast<double>(keys) * attention.head_dim *
                       (attention.heads / attention.kv_heads);
  return {.items = args.batches * attention.kv_heads,
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(1e6 / flops)),
          .scratch_bytes = attention_gradient_shape(plan, target).scratch_bytes};
}

std::string describe(const X86AttentionGradientPlan& plan, const X86Target&) {
  return fmt::format("{} heads of {}{}, weights computed again", plan.attention.heads, plan.attention.head_dim,
                     plan.attention.limited ? ", causal" : "");
}

bool can_shrink(const X86AttentionGradientPlan& plan, const X86Target& target, int shrink) {
  return attention_gradient_shape(plan, target, shrink).tiles.rows <
         attention_gradient_shape(plan, target, shrink - 1).tiles.rows;
}

KernelSpeed speed(const X86AttentionGradientPlan&, const X86Target&) { return {0.75, 0.3}; }

int64_t length_bound(int64_t keys) {  // lengths of one range share a kernel
  int64_t most = 128;
  while (most < keys) most *= 2;
  return most;
}

// Scratch is as large as the longest keys want it.
Support adapt(const X86Device& device, const Lowering&, Prepared& prepared) {
  StepDraft& step = prepared.step();
  prepared.place = [&device, plan = X86AttentionGradientPlan{step.plan->get<AttentionGradientPlan>()},
                    fill = std::move(prepared.place),
                    plans = PlanVariants<int64_t>()](const RunSizes& sizes, StepCall& placed) mutable {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    const int64_t most = length_bound(placed.args<AttentionGradientArgs>().keys);
    return plans.choose(most, device, placed, [&] {
      X86AttentionGradientPlan chosen = plan;
      chosen.max_length = most;
      return KernelPlan(chosen);
    });
  };
  step.plan.reset();  // chosen by the sizes of a run
  return {};
}

constexpr X86KernelClass<X86AttentionGradientPlan, AttentionGradientArgs> kAttentionGradient{
    .adapt = adapt,
    .supports = attention_gradient_support,
    .launch = launch,
    .describe = describe,
    .emit = emit_attention_gradient,
    .can_shrink = can_shrink,
    .speed = speed};

}  // namespace

extern constinit const X86KernelDef attention_gradient_on_x86_def = x86_kernel<kAttentionGradient>();

}  // namespace hone
