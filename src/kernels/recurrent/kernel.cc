// Recurrent layers: when the class applies, and what it trusts of its operands.
#include "kernels/recurrent/plan.h"

namespace hone {
namespace {

constexpr int kLengths = place_of<&RecurrentArgs::lengths>;

std::string fault(const RecurrentPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (!plan.has_lengths) return "";
  const auto given = from_args<RecurrentArgs>(args);
  const auto find = [&](const auto* lengths) -> std::string {
    for (int64_t i = 0; i < given.batch; ++i)
      if (lengths[i] < 0 || lengths[i] > given.steps)
        return fmt::format("%{}: a sequence has length {}; accepted: 0 to {}, the steps of x", operand(kLengths).name,
                           lengths[i], given.steps);
    return "";
  };
  return plan.lengths == DType::i64 ? find(static_cast<const int64_t*>(given.lengths))
                                    : find(static_cast<const int32_t*>(given.lengths));
}

bool takes(const OpDef& op) { return is_one_of(op, {"recurrent_steps"}); }

constexpr KernelClass<RecurrentPlan> recurrent{
    .name = "recurrent",
    .doc = "the steps of recurrent layers, with states kept from one to the next",
    .takes = takes,
    .lower = lower_recurrent,
    .trusts = {kLengths, -1},
    .fault = fault};

}  // namespace

extern constinit const KernelDef recurrent_kernel_def = kernel_def<recurrent>();
const KernelDef& RecurrentPlan::kernel() { return recurrent_kernel_def; }

}  // namespace hone
