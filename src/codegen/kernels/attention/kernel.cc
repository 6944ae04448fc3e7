// What follows from the plan of attention.
#include <algorithm>

#include "codegen/kernels/attention/shape.h"
#include "ir/graph.h"
#include "ops/calls.h"

namespace hone {
namespace {

// An item is a few million multiply-adds; short ones are handed out together until they take about 20 us.
Launch launch(const AttentionPlan& plan, const Target& target, KernelArgs& args) {
  const int64_t keys = std::max<int64_t>(1, args.dims[2]),
                flops = 4 * std::min(kQueriesPerItem, keys) * keys * plan.head_dim;
  return {.items = attention_items(plan, args.dims[0], args.dims[1]),
          .items_per_chunk = std::max<int64_t>(1, (int64_t{1} << 20) / flops),
          .scratch_bytes = attention_shape(plan, target).scratch_bytes};
}

std::string describe(const AttentionPlan& plan, const Target&) {
  return fmt::format("{} heads of {}{}, {} operands", plan.heads, plan.head_dim, plan.causal ? ", causal" : "",
                     to_string(plan.dtype));
}

bool can_shrink(const AttentionPlan& plan, const Target& target, int shrink) {
  return attention_shape(plan, target, shrink).rows < attention_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const AttentionPlan&, const Target&) { return {0.75, 0.3}; }

// It has no element program; its one possible follower is the rounding of its result.
Support user_fits(const Graph& graph, NodeId user) {
  const Node& node = graph.node(user);
  if (node.op != &cast_def || graph.use_count(node.operands[0]) != 1 ||
      graph.type(node.results[0]).dtype != DType::bf16)
    return {"attention kernels only round their result"};
  return {};
}

bool takes(const OpDef& op) { return is_one_of(op, {"attention"}); }

constexpr KernelClass<AttentionPlan> attention{
    .name = "attention",
    .doc = "attention: scores, softmax and values in one kernel",
    .takes = takes,
    .group = {.takes_users = [](const Graph&, NodeId) { return true; }, .user_fits = user_fits},
    .lower = lower_attention,
    .supports = attention_support,
    .launch = launch,
    .describe = describe,
    .can_shrink = can_shrink,
    .speed = speed};

}  // namespace

extern constinit const KernelDef attention_kernel_def = kernel_def<attention>();
const KernelDef& AttentionPlan::kernel() { return attention_kernel_def; }

}  // namespace hone
