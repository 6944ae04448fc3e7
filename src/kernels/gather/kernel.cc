// What follows from the plan of a gather.
#include <algorithm>

#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/gather/plan.h"
#include "device/x86/weight_codec.h"

namespace hone {
namespace {

Support supports(const GatherPlan& plan, const Target&) {
  if (!is_integer(plan.ids)) return {fmt::format("row numbers of type {}", to_string(plan.ids))};
  if (plan.columns < 1) return {fmt::format("rows of {} elements", plan.columns)};
  if (!plan.table_format.empty()) {
    if (compute_scalar(plan.result) != Scalar::f32)
      return {fmt::format("a packed table read as {}", to_string(plan.result))};
    return prepackable(parse_format(plan.table_format));
  }
  for (DType dtype : {plan.table, plan.result})
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  if (compute_scalar(plan.table) != compute_scalar(plan.result))
    return {fmt::format("a table of {} read as {}", to_string(plan.table), to_string(plan.result))};
  return {};
}

Launch launch(const GatherPlan& plan, const Target&, KernelArgs& args) {
  const double ns = plan.table_format.empty() ? 0.2 : 0.5;  // an element
  return {args.dims[0],
          std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * static_cast<double>(plan.columns) + 5)))};
}

std::string describe(const GatherPlan& plan, const Target&) {
  return fmt::format("rows of {} {}", plan.columns,
                     plan.table_format.empty() ? to_string(plan.table) : std::string_view(plan.table_format));
}

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
    .supports = supports,
    .launch = launch,
    .describe = describe,
    .row_numbers = kNumbers,
    .trusts = {kNumbers.numbers, -1},
    .fault = fault};

}  // namespace

extern constinit const KernelDef gather_kernel_def = kernel_def<gather>();
const KernelDef& GatherPlan::kernel() { return gather_kernel_def; }

}  // namespace hone
