// Recurrent layers on x86: what there is code for, launches and reports (shape.h).
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/recurrent/prepack.h"
#include "device/x86/recurrent/shape.h"
#include "device/x86/x86_kernel.h"

namespace hone {
namespace {

Support supports(const RecurrentPlan& plan, const X86Target&) {
  constexpr int64_t kMostUnits = int64_t{1} << 20;
  if (plan.hidden < 1 || plan.hidden > kMostUnits) return {fmt::format("{} units", plan.hidden)};
  if (plan.has_lengths && plan.lengths != DType::i64 && plan.lengths != DType::i32)
    return {fmt::format("lengths of {}", to_string(plan.lengths))};
  return {};
}

Launch launch(const RecurrentPlan& plan, const X86Target& target, X86RecurrentArgs& args) {
  const int64_t batch = args.batch, sequences = sequences_of_item(batch);
  args.sequences = sequences;
  return {.items = sequences > 0 ? std::ssize(plan.directions) * ceil_div(batch, sequences) : 0,
          .items_per_chunk = 1,
          .scratch_bytes = recurrent_shape(plan, target).scratch_bytes(sequences)};
}

std::string describe(const RecurrentPlan& plan, const X86Target& target) {
  std::string tiles;
  for (const RecurrentShape::Phase& phase : recurrent_shape(plan, target).phases)
    tiles += fmt::format("{}{}x{}", tiles.empty() ? "" : " and ", phase.rows, phase.part_vectors * target.lanes());
  return fmt::format("{} direction{} of {} units with {} gate{}: tiles up to {}", plan.directions.size(),
                     plan.directions.size() == 1 ? "" : "s", plan.hidden, plan.gates(), plan.gates() == 1 ? "" : "s",
                     tiles);
}

bool can_shrink(const RecurrentPlan& plan, const X86Target& target, int shrink) {
  return recurrent_shape(plan, target, shrink).phases != recurrent_shape(plan, target, shrink - 1).phases;
}

// One sequence takes each weight once, from the second-level cache or behind it.
KernelSpeed speed(const RecurrentPlan&, const X86Target&) { return {0.6, 0.03}; }

constexpr X86KernelClass<RecurrentPlan, X86RecurrentArgs> kRecurrent{.supports = supports,
                                                                     .launch = launch,
                                                                     .describe = describe,
                                                                     .emit = emit_recurrent,
                                                                     .can_shrink = can_shrink,
                                                                     .speed = speed,
                                                                     .prepack_key = prepack_key,
                                                                     .prepacked_bytes = prepacked_bytes,
                                                                     .prepack = prepack};

}  // namespace

extern constinit const X86KernelDef recurrent_on_x86_def = x86_kernel<kRecurrent>();

}  // namespace hone
