// Gathers and scatters: when the class applies, and what it trusts of their indices.
#include "kernels/indexed/plan.h"

namespace hone {
namespace {

constexpr int kIndices = place_of<&IndexedArgs::indices>;

std::string fault(const IndexedPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  const auto given = from_args<IndexedArgs>(args);
  const auto size_of = [&](int64_t i) {
    return given.axes[static_cast<size_t>(plan.tuples ? i % plan.rank : 2 * plan.rank)];
  };
  const auto find = [&](const auto* indices) -> std::string {
    for (int64_t i = 0; i < given.index_count; ++i)
      if (const int64_t size = size_of(i); indices[i] < -size || indices[i] >= size)
        return fmt::format("%{}: element {} is {}, out of range for an axis of {} elements", operand(kIndices).name, i,
                           indices[i], size);
    return "";
  };
  return plan.indices == DType::i64 ? find(static_cast<const int64_t*>(given.indices))
                                    : find(static_cast<const int32_t*>(given.indices));
}

bool takes(const OpDef& op) {
  return is_one_of(op, {"gather_nd", "gather_elements", "scatter_nd", "scatter_elements"});
}

constexpr KernelClass<IndexedPlan> indexed{.name = "indexed",
                                           .doc = "elements or slices at places that indices say, read or written",
                                           .takes = takes,
                                           .lower = lower_indexed,
                                           .trusts = {kIndices, -1},
                                           .fault = fault};

}  // namespace

extern constinit const KernelDef indexed_kernel_def = kernel_def<indexed>();
const KernelDef& IndexedPlan::kernel() { return indexed_kernel_def; }

}  // namespace hone
