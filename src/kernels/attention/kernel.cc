// What follows from the plan of attention.
#include <algorithm>

#include "ir/graph.h"
#include "device/x86/attention/shape.h"
#include "ops/calls.h"

namespace hone {
namespace {

constexpr int kTable = 11;  // in pointers

// Items are handed out together until they take about 20 us.
Launch launch(const AttentionPlan& plan, const Target& target, KernelArgs& args) {
  const AttentionShape shape = attention_shape(plan, target);
  const AttentionItems items = attention_items(plan, shape, args.dims[0], args.dims[1], args.dims[2]);
  const int64_t sharing = plan.heads / plan.kv_heads;
  args.dims[13] = items.heads, args.dims[14] = items.queries;
  args.dims[15] = args.dims[1] * sharing <= attention_rows_in_rows(plan, args.dims[2]);
  args.dims[16] = items.per_head, args.dims[17] = items.ranges, args.dims[18] = items.range_keys;
  if (plan.task == AttentionPlan::Task::join)
    return {.items = items.ranges > 1 ? items.count : 0, .scratch_bytes = shape.scratch_bytes};
  const double flops = 2.0 * static_cast<double>(items.heads * std::min(items.queries, args.dims[1])) *
                       static_cast<double>(std::clamp<int64_t>(args.dims[2], 1, items.range_keys)) *
                       (plan.head_dim + plan.value_dim);
  return {.items = items.count * items.ranges,
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>((1 << 20) / std::max(1.0, flops))),
          .scratch_bytes = shape.scratch_bytes};
}

std::string describe(const AttentionPlan& plan, const Target& target) {
  const AttentionShape shape = attention_shape(plan, target);
  if (plan.task == AttentionPlan::Task::join) return "ranges of keys joined in their order";
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

bool can_shrink(const AttentionPlan& plan, const Target& target, int shrink) {
  if (plan.splits) return false;  // two kernels agree on strips
  return attention_shape(plan, target, shrink).rows < attention_shape(plan, target, shrink - 1).rows;
}

KernelSpeed speed(const AttentionPlan& plan, const Target& target) {
  if (attention_shape(plan, target).tiles) return {0.5, 0.03, ProductUnit::bf16_tiles};  // the rest is softmax
  return {0.75, 0.3};
}

// It has no element program; its one possible follower is the rounding of its result.
Support user_fits(const Graph& graph, NodeId user) {
  const Node& node = graph.node(user);
  if (node.op != &cast_def || graph.use_count(node.operands[0]) != 1 ||
      graph.type(node.results[0]).dtype != DType::bf16)
    return {"attention kernels only round their result"};
  return {};
}

// The pages of a table, which may count from the end.
std::string fault(const AttentionPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (plan.page_rows == 0 || plan.task == AttentionPlan::Task::join) return "";
  const int64_t count = args.dims[0] * args.dims[19], pages = std::min(args.dims[20], args.dims[21]);
  const auto find = [&](const auto* table) -> std::string {
    for (int64_t i = 0; i < count; ++i)
      if (table[i] < -pages || table[i] >= pages)
        return fmt::format("%{}: element {} is {}, but there are {} pages", operand(kTable).name, i, table[i], pages);
    return "";
  };
  const void* table = args.pointers[kTable];
  return plan.table == DType::i64 ? find(static_cast<const int64_t*>(table)) : find(static_cast<const int32_t*>(table));
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
    .speed = speed,
    .trusts = {kTable, -1},
    .fault = fault};

}  // namespace

extern constinit const KernelDef attention_kernel_def = kernel_def<attention>();
const KernelDef& AttentionPlan::kernel() { return attention_kernel_def; }

}  // namespace hone
