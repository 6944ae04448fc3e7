// Rows of a table by their numbers: when the class applies, and what it trusts of the numbers.
#include "kernels/gather/plan.h"

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

bool takes(const OpDef& op) { return is_one_of(op, {"gather", "dequantize"}); }

constexpr KernelClass<GatherPlan> gather{
    .name = "gather",
    .doc = "rows of a table, by their numbers or all of them, decoded where it is packed",
    .takes = takes,
    .lower = lower_gather,
    .row_numbers = kNumbers,
    .trusts = {kNumbers.numbers, -1},
    .fault = fault};

}  // namespace

extern constinit const KernelDef gather_kernel_def = kernel_def<gather>();
const KernelDef& GatherPlan::kernel() { return gather_kernel_def; }

}  // namespace hone
