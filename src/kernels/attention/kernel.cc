// Attention: when the class applies, and what it trusts of its operands.
#include <algorithm>

#include "ir/graph.h"
#include "kernels/attention/plan.h"
#include "ops/calls/cast.h"

namespace hone {
namespace {

constexpr int kTable = place_of<&AttentionArgs::table>;

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
  if (plan.page_rows == 0) return "";
  const auto given = from_args<AttentionArgs>(args);
  const int64_t count = given.batches * given.sequence_pages, pages = std::min(given.k_pages, given.v_pages);
  const auto find = [&](const auto* table) -> std::string {
    for (int64_t i = 0; i < count; ++i)
      if (table[i] < -pages || table[i] >= pages)
        return fmt::format("%{}: element {} is {}, but there are {} pages", operand(kTable).name, i, table[i], pages);
    return "";
  };
  return plan.table == DType::i64 ? find(static_cast<const int64_t*>(given.table))
                                  : find(static_cast<const int32_t*>(given.table));
}

bool takes(const OpDef& op) { return is_one_of(op, {"attention"}); }

constexpr KernelClass<AttentionPlan> attention{
    .name = "attention",
    .doc = "attention: scores, softmax and values in one kernel",
    .takes = takes,
    .group = {.takes_users = [](const Graph&, NodeId) { return true; }, .user_fits = user_fits},
    .lower = lower_attention,
    .trusts = {kTable, -1},
    .fault = fault};

}  // namespace

extern constinit const KernelDef attention_kernel_def = kernel_def<attention>();
const KernelDef& AttentionPlan::kernel() { return attention_kernel_def; }

}  // namespace hone
