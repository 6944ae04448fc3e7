// What follows from the plan of a pointwise kernel.
#include <algorithm>

#include "device/x86/element_cost.h"
#include "kernels/elements.h"
#include "kernels/pointwise/plan.h"

namespace hone {
namespace {

Support supports(const PointwisePlan& plan, const Target&) {
  const size_t operands = plan.operands.size(), results = plan.results.size(), rank = static_cast<size_t>(plan.rank);
  if (plan.rank < 1 || plan.rank > 6)
    return {fmt::format("rank {} of a pointwise kernel; supported: 1 to 6", plan.rank)};
  if (operands + results > KernelArgs{}.pointers.size() ||
      rank * (operands + (plan.dense ? 1 : 2)) > KernelArgs{}.dims.size())
    return {fmt::format("{} operands and {} results of rank {} do not fit the arguments of a kernel", operands, results,
                        rank)};
  for (const PointwisePlan::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  for (DType dtype : plan.results)
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  CHECK(plan.program.results.size() == results);
  if (!plan.dense && (plan.rank == 1 || uses_index(plan.program))) return {"the element's index in a part of a result"};
  return {};
}

Launch launch(const PointwisePlan& plan, const Target& target, KernelArgs& args) {
  int64_t items = args.dims[0];
  for (int axis = 1; axis + 1 < plan.rank; ++axis) items *= args.dims[static_cast<size_t>(axis)];
  const int64_t row = plan.rank > 1 ? args.dims[static_cast<size_t>(plan.rank - 1)] : 1;
  if (row == 0) items = 0;
  const double ns = element_ns(plan.program, static_cast<int>(plan.operands.size() + plan.results.size()), target);
  const auto elements = std::max<int64_t>(1024, static_cast<int64_t>(20000 / ns) / 64 * 64);
  return {items, std::max<int64_t>(1, elements / std::max<int64_t>(1, row))};
}

std::string describe(const PointwisePlan& plan, const Target&) {
  const auto strided = std::ranges::count(plan.operands, PointwisePlan::Inner::strided, &PointwisePlan::Operand::inner);
  return fmt::format("{} loop{}{}", plan.rank, plan.rank == 1 ? "" : "s",
                     strided ? fmt::format(", {} strided operand{}", strided, strided == 1 ? "" : "s") : "");
}

bool takes(const OpDef& op) { return op.pointwise != nullptr || op.moves; }

constexpr KernelClass<PointwisePlan> pointwise{.name = "pointwise",
                                               .doc = "element by element, broadcast and strided",
                                               .takes = takes,
                                               .lower = lower_pointwise,
                                               .supports = supports,
                                               .launch = launch,
                                               .describe = describe};

}  // namespace

extern constinit const KernelDef pointwise_kernel_def = kernel_def<pointwise>();
const KernelDef& PointwisePlan::kernel() { return pointwise_kernel_def; }

}  // namespace hone
