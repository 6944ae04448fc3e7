// Rows of a table by their numbers: when the class applies, and what it trusts of the numbers.
#include "kernels/gather/plan.h"

namespace hone {
namespace {

constexpr RowNumbers kNumbers{.table = 0, .numbers = 2};

std::string fault(const GatherPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (plan.every_row) return "";
  const int64_t rows = args.dims[1], count = args.dims[2];
  const auto find = [&](const auto* ids) -> std::string {
    for (int64_t i = 0; i < count; ++i)
      if (ids[i] < -rows || ids[i] >= rows)
        return fmt::format("%{}: element {} is {}, but \"{}\" has {} rows", operand(kNumbers.numbers).name, i, ids[i],
                           operand(kNumbers.table).label, rows);
    return "";
  };
  const void* ids = args.pointers[kNumbers.numbers];
  return plan.ids == DType::i64 ? find(static_cast<const int64_t*>(ids)) : find(static_cast<const int32_t*>(ids));
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
