// What follows from the plan of gathers and scatters.
#include <algorithm>

#include "kernels/elements.h"
#include "kernels/indexed/plan.h"

namespace hone {
namespace {

constexpr int kIndices = 1;  // position in pointers

Support supports(const IndexedPlan& plan, const Target&) {
  constexpr int64_t kMostAxes = 16;
  if (plan.rank < 1 || plan.rank > kMostAxes) return {fmt::format("{} axes", plan.rank)};
  if (plan.indices != DType::i64 && plan.indices != DType::i32)
    return {fmt::format("indices of {}", to_string(plan.indices))};
  using Joins = IndexedPlan::Joins;
  if (plan.joins == Joins::replace) return {};
  if (!is_loadable(plan.dtype) || plan.dtype == DType::boolean)
    return {fmt::format("updates of type {} that join what they meet", to_string(plan.dtype))};
  // Several updates of one element are rounded once, together.
  if ((plan.joins == Joins::add || plan.joins == Joins::mul) && is_float(plan.dtype) && size_bytes(plan.dtype) == 2)
    return {fmt::format("sums and products that are rounded to {}", to_string(plan.dtype))};
  return {};
}

Launch launch(const IndexedPlan& plan, const Target&, KernelArgs& args) {
  const KernelDims& d = args.dims;
  if (plan.scatters) return {1, 1};
  const double each = static_cast<double>(d[3]) / static_cast<double>(std::max<int64_t>(d[0], 1)),
               ns = each * (2 + 0.05 * static_cast<double>(d[1]));
  return {d[0], std::max<int64_t>(1, static_cast<int64_t>(20000 / std::max(ns, 1.0)))};
}

std::string describe(const IndexedPlan& plan, const Target&) {
  const std::string what = plan.tuples ? fmt::format("slices by {} ind{}", plan.rank, plan.rank == 1 ? "ex" : "ices")
                                       : std::string("elements along an axis");
  using Joins = IndexedPlan::Joins;
  return fmt::format("{} {}", what,
                     !plan.scatters                 ? "read"
                     : plan.joins == Joins::replace ? "written"
                                                    : "joined with what they meet");
}

std::string fault(const IndexedPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  const int64_t count = args.dims[3];
  const auto size_of = [&](int64_t i) {
    return args.dims[static_cast<size_t>(kIndexedSizes + (plan.tuples ? i % plan.rank : 2 * plan.rank))];
  };
  const auto find = [&](const auto* indices) -> std::string {
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t size = size_of(i); indices[i] < -size || indices[i] >= size)
        return fmt::format("%{}: element {} is {}, out of range for an axis of {} elements", operand(kIndices).name, i,
                           indices[i], size);
    return "";
  };
  const void* indices = args.pointers[kIndices];
  return plan.indices == DType::i64 ? find(static_cast<const int64_t*>(indices))
                                    : find(static_cast<const int32_t*>(indices));
}

bool takes(const OpDef& op) {
  return is_one_of(op, {"gather_nd", "gather_elements", "scatter_nd", "scatter_elements"});
}

constexpr KernelClass<IndexedPlan> indexed{.name = "indexed",
                                           .doc = "elements or slices at places that indices say, read or written",
                                           .takes = takes,
                                           .lower = lower_indexed,
                                           .supports = supports,
                                           .launch = launch,
                                           .describe = describe,
                                           .trusts = {kIndices, -1},
                                           .fault = fault};

}  // namespace

extern constinit const KernelDef indexed_kernel_def = kernel_def<indexed>();
const KernelDef& IndexedPlan::kernel() { return indexed_kernel_def; }

}  // namespace hone
