// Rows of a table by their numbers: when the class applies, and what it trusts of the numbers.
#include "ir/graph.h"
#include "kernels/gather/plan.h"
#include "ops/calls/cast.h"
#include "ops/calls/quantize.h"

namespace hone {
namespace {

constexpr RowNumbers kNumbers{.table = place_of<&GatherArgs::table>, .numbers = place_of<&GatherArgs::ids>};

std::string fault(const GatherPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (plan.every_row) return "";
  const auto given = from_args<GatherArgs>(args);
  const auto find = [&](const auto* ids) -> std::string {
    for (int64_t i = 0; i < given.ids_per_table; ++i)
      if (ids[i] < -given.rows || ids[i] >= given.rows)
        return fmt::format("%{}: element {} is {}, but \"{}\" has {} rows", operand(kNumbers.numbers).name, i, ids[i],
                           operand(kNumbers.table).label, given.rows);
    return "";
  };
  return plan.ids == DType::i64 ? find(static_cast<const int64_t*>(given.ids))
                                : find(static_cast<const int32_t*>(given.ids));
}

// A decoded table may be rounded where it is written.
Support user_fits(const Graph& graph, NodeId user) {
  const Node& node = graph.node(user);
  const NodeId decoded = graph.producer(node.operands[0]);
  if (decoded == kNone || graph.node(decoded).op != &dequantize_def)
    return {"gather kernels of rows have no followers"};
  if (node.op != &cast_def || graph.use_count(node.operands[0]) != 1 ||
      graph.type(node.results[0]).dtype != DType::bf16)
    return {"gather kernels only round what they decode"};
  return {};
}

bool takes(const OpDef& op) { return is_one_of(op, {"gather", "dequantize"}); }

constexpr KernelClass<GatherPlan> gather{
    .name = "gather",
    .doc = "rows of a table, by their numbers or all of them, decoded where it is packed",
    .takes = takes,
    .group = {.takes_users = [](const Graph& graph, NodeId n) { return graph.node(n).op == &dequantize_def; },
              .user_fits = user_fits},
    .lower = lower_gather,
    .row_numbers = kNumbers,
    .trusts = {kNumbers.numbers, -1},
    .fault = fault};

}  // namespace

extern constinit const KernelDef gather_kernel_def = kernel_def<gather>();
const KernelDef& GatherPlan::kernel() { return gather_kernel_def; }

}  // namespace hone
