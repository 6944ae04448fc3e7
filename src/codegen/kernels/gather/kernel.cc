// What follows from the plan of a gather.
#include <algorithm>

#include "codegen/elements.h"
#include "codegen/kernels/gather/plan.h"
#include "codegen/weight_codec.h"
#include "ir/pointwise.h"

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

RowNumbers row_numbers(const GatherPlan& plan) {
  return {.table = 0, .numbers = 2, .rows_dim = 1, .count_dim = 2, .dtype = plan.ids};
}

bool takes(const OpDef& op) { return is_one_of(op, {"gather"}); }

constexpr KernelClass<GatherPlan> gather{.name = "gather",
                                         .doc = "rows of a table by their numbers, decoded where it is packed",
                                         .takes = takes,
                                         .lower = lower_gather,
                                         .supports = supports,
                                         .launch = launch,
                                         .describe = describe,
                                         .row_numbers = row_numbers};

}  // namespace

extern constinit const KernelDef gather_kernel_def = kernel_def<gather>();
const KernelDef& GatherPlan::kernel() { return gather_kernel_def; }

}  // namespace hone
