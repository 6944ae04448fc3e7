// What follows from the plan of a recurrent kernel.
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/recurrent/prepack.h"
#include "device/x86/recurrent/shape.h"

namespace hone {
namespace {

constexpr int kLengths = 3;  // position in pointers

Support supports(const RecurrentPlan& plan, const Target&) {
  constexpr int64_t kMostUnits = int64_t{1} << 20;
  if (plan.hidden < 1 || plan.hidden > kMostUnits) return {fmt::format("{} units", plan.hidden)};
  if (plan.has_lengths && plan.lengths != DType::i64 && plan.lengths != DType::i32)
    return {fmt::format("lengths of {}", to_string(plan.lengths))};
  return {};
}

Launch launch(const RecurrentPlan& plan, const Target& target, KernelArgs& args) {
  const int64_t batch = args.dims[1], sequences = sequences_of_item(batch);
  args.dims[2] = sequences;
  return {.items = sequences > 0 ? std::ssize(plan.directions) * ceil_div(batch, sequences) : 0,
          .items_per_chunk = 1,
          .scratch_bytes = recurrent_shape(plan, target).scratch_bytes(sequences)};
}

std::string describe(const RecurrentPlan& plan, const Target& target) {
  std::string tiles;
  for (const RecurrentShape::Phase& phase : recurrent_shape(plan, target).phases)
    tiles += fmt::format("{}{}x{}", tiles.empty() ? "" : " and ", phase.rows, phase.part_vectors * target.lanes());
  return fmt::format("{} direction{} of {} units with {} gate{}: tiles up to {}", plan.directions.size(),
                     plan.directions.size() == 1 ? "" : "s", plan.hidden, plan.gates(), plan.gates() == 1 ? "" : "s",
                     tiles);
}

bool can_shrink(const RecurrentPlan& plan, const Target& target, int shrink) {
  return recurrent_shape(plan, target, shrink).phases != recurrent_shape(plan, target, shrink - 1).phases;
}

// One sequence takes each weight once, from the second-level cache or behind it.
KernelSpeed speed(const RecurrentPlan&, const Target&) { return {0.6, 0.03}; }

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

constexpr KernelClass<RecurrentPlan> recurrent{.name = "recurrent",
                                               .doc = "the steps of recurrent layers, with states in the cache",
                                               .takes = takes,
                                               .lower = lower_recurrent,
                                               .supports = supports,
                                               .launch = launch,
                                               .describe = describe,
                                               .can_shrink = can_shrink,
                                               .speed = speed,
                                               .trusts = {kLengths, -1},
                                               .fault = fault,
                                               .prepack_key = prepack_key,
                                               .prepacked_bytes = prepacked_bytes,
                                               .prepack = prepack};

}  // namespace

extern constinit const KernelDef recurrent_kernel_def = kernel_def<recurrent>();
const KernelDef& RecurrentPlan::kernel() { return recurrent_kernel_def; }

}  // namespace hone
