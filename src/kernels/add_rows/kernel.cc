// Rows added up at their numbers: when the class applies, and what it trusts of the numbers.
#include "kernels/add_rows/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

constexpr int kIds = place_of<&AddRowsArgs::ids>;

std::string fault(const AddRowsPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  const auto given = from_args<AddRowsArgs>(args);
  const auto find = [&](const auto* ids) -> std::string {
    for (int64_t i = 0; i < given.id_count; ++i)
      if (ids[i] < -given.rows || ids[i] >= given.rows)
        return fmt::format("%{}: element {} is {}; the result has {} rows", operand(kIds).name, i, ids[i], given.rows);
    return "";
  };
  return plan.ids == DType::i64 ? find(static_cast<const int64_t*>(given.ids))
                                : find(static_cast<const int32_t*>(given.ids));
}

bool takes(const OpDef& op) { return is_one_of(op, {"gather_gradient"}); }

constexpr KernelClass<AddRowsPlan> add_rows{.name = "add_rows",
                                            .doc = "rows added up at their numbers, as gradients of embeddings are",
                                            .takes = takes,
                                            .group = kEpilogueRules,
                                            .lower = lower_add_rows,
                                            .trusts = {kIds, -1},
                                            .fault = fault};

}  // namespace

extern constinit const KernelDef add_rows_kernel_def = kernel_def<add_rows>();
const KernelDef& AddRowsPlan::kernel() { return add_rows_kernel_def; }

}  // namespace hone
