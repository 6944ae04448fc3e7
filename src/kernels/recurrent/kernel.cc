// Recurrent layers: when the class applies, and what it trusts of its operands.
#include "kernels/recurrent/plan.h"

namespace hone {
namespace {

constexpr int kLengths = 3;  // position in pointers

std::string fault(const RecurrentPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  if (!plan.has_lengths) return "";
  const int64_t steps = args.dims[0], batch = args.dims[1];
  const auto find = [&](const auto* lengths) -> std::string {
    for (int64_t i = 0; i < batch; ++i)
      if (lengths[i] < 0 || lengths[i] > steps)
        return fmt::format("%{}: a sequence has length {}; accepted: 0 to {}, the steps of x", operand(kLengths).name,
                           lengths[i], steps);
    return "";
  };
  const void* lengths = args.pointers[kLengths];
  return plan.lengths == DType::i64 ? find(static_cast<const int64_t*>(lengths))
                                    : find(static_cast<const int32_t*>(lengths));
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
