// Attention on x86: launches, reports, and ranges of long keys (shape.h).
#include <algorithm>
#include <utility>

#include "device/x86/attention/shape.h"
#include "device/x86/x86_kernel.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

Support supports(const X86AttentionPlan& plan, const X86Target& target) { return attention_support(plan, target); }

// Items are handed out together until they take about 20 us.
Launch launch(const X86AttentionPlan& plan, const X86Target& target, X86AttentionArgs& args) {
  const AttentionShape shape = attention_shape(plan, target);
  const AttentionItems items = attention_items(plan, shape, args.batches, args.queries, args.keys);
  const int64_t sharing = plan.heads / plan.kv_heads;
  args.item_heads = items.heads, args.item_queries = items.queries;
  args.in_rows = args.queries * sharing <= attention_rows_in_rows(plan, args.keys);
  args.strip_rows = items.per_head, args.ranges = items.ranges, args.range_keys = items.range_keys;
  if (plan.task == X86AttentionPlan::Task::join)
    return {.items = items.ranges > 1 ? items.count : 0, .scratch_bytes = shape.scratch_bytes};
  const double flops = 2.0 * static_cast<double>(items.heads * std::min(items.queries, args.queries)) *
                       static_cast<double>(std::clamp<int64_t>(args.keys, 1, items.range_keys)) *
                       (plan.head_dim + plan.value_dim);
  return {.items = items.count * items.ranges,
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>((1 << 20) / std::max(1.0, flops))),
          .scratch_bytes = shape.scratch_bytes};
}

std::string describe(const X86AttentionPlan& plan, const X86Target& target) {
  const AttentionShape shape = attention_shape(plan, target);
  if (plan.task == X86AttentionPlan::Task::join) return "ranges of keys joined in their order";
  const std::string ranges = plan.splits ? fmt::format(", of up to {} queries in ranges of {}", kSplitQueries,
                                                       attention_range_keys(plan, shape, 1))
                                         : "";
  std::string operands(to_string(plan.dtype));
  if (plan.is_packed()) {
    const auto name = [](const std::string& format) { return format.empty() ? "f32" : format; };
    operands = fmt::format("f32, {} and {}", name(plan.k_format), name(plan.v_format));
  }
  if (plan.page_rows > 0) operands += fmt::format(" in pages of {} rows,", plan.page_rows);
  return fmt::format(
      "{} heads of {}{}{}, {} operands, keys {} at a time{}, laid out for more than {} rows that share them",
      plan.heads, plan.head_dim, plan.value_dim != plan.head_dim ? fmt::format(" and {}", plan.value_dim) : "",
      plan.limited ? ", keys by position" : "", operands, shape.block_keys, ranges,
      attention_rows_in_rows(plan, shape.block_keys));
}

bool can_shrink(const X86AttentionPlan& plan, const X86Target& target, int shrink) {
  if (plan.splits) return false;  // two kernels agree on strips
  return attention_shape(plan, target, shrink).rows < attention_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const X86AttentionPlan& plan, const X86Target& target) {
  if (attention_shape(plan, target).tiles()) return {0.5, 0.03, ProductUnit::bf16_tiles};  // the rest is softmax
  return {0.75, 0.3};
}

// Whether some lengths make ranges of keys.
bool may_split(const X86AttentionPlan& plan, const X86Target& target, const Dim& queries, const Dim& keys) {
  const int64_t range = attention_range_keys(plan, attention_shape(plan, target), 1);
  if (queries.is_constant() && queries.constant() > kSplitQueries) return false;
  if (keys.is_constant() && keys.constant() <= range) return false;
  return !(queries == keys) || kSplitQueries > range;
}

// The second step of few queries, whose sizes and strides are those of the first.
void add_join(Prepared& prepared, X86AttentionPlan plan) {
  const StepDraft& step = prepared.step();
  StepDraft join = step;
  for (PointerBinding& pointer : join.pointers) pointer = {};
  for (size_t read : {place_of<&AttentionArgs::out>, place_of<&AttentionArgs::sinks>, place_of<&AttentionArgs::shared>})
    join.pointers[read] = step.pointers[read];
  plan.task = X86AttentionPlan::Task::join;
  plan.k_format.clear(), plan.v_format.clear(), plan.page_rows = 0;
  join.plan = plan;
  join.is_rest = true;
  prepared.steps.push_back(std::move(join));
}

Support adapt(const X86Device& device, const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Node& node = lowering.graph.node(step.group.anchor);
  X86AttentionPlan plan{step.plan->get<AttentionPlan>()};
  plan.splits =
      may_split(plan, device.target(), lowering.shape(node.operands[0])[1], lowering.shape(node.operands[1])[1]);
  step.plan = plan;
  if (!plan.splits) return {};
  step.pointers[place_of<&AttentionArgs::shared>].plane = Plane::shared;
  add_join(prepared, plan);
  prepared.place = [plan, shape = attention_shape(plan, device.target()), fill = std::move(prepared.place)](
                       const RunSizes& sizes, StepCall& placed) {
    if (Support r = fill(sizes, placed); !r.supported()) return r;
    placed.shared_bytes = attention_shared_bytes(plan, shape, placed.args<AttentionArgs>());
    return Support{};
  };
  return {};
}

constexpr X86KernelClass<X86AttentionPlan, X86AttentionArgs> kAttention{.adapt = adapt,
                                                                        .supports = supports,
                                                                        .launch = launch,
                                                                        .describe = describe,
                                                                        .emit = emit_attention,
                                                                        .can_shrink = can_shrink,
                                                                        .speed = speed};

}  // namespace

extern constinit const X86KernelDef attention_on_x86_def = x86_kernel<kAttention>();

}  // namespace hone
