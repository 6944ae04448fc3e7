#include "runtime/memory_needs.h"

#include <algorithm>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "base/text.h"

namespace hone {
namespace {

// Of weights that are still to be laid out, and of those that runs lay out.
int64_t layout_bytes(const RunPlan& plan, const SharedKernels& shared, const OwnWeights& own) {
  int64_t bytes = 0;
  std::map<std::string, int64_t> layouts;
  for (const Step& step : plan.lowered.steps) {
    if (!step.plan) continue;
    const SharedKernels& kernels = shared.of(step);
    const Device& device = *kernels.device;
    if (step.lasting && kernels.lasting.contains(step.plan->identity())) continue;
    for (const PointerBinding& pointer : step->pointers) {
      if (pointer.plane != PointerBinding::Plane::prepacked) continue;
      const ValueId weights = plan.holder(pointer.value);
      if (!plan.constant(weights)) {
        bytes = checked_add(bytes, prepacking(device, *step.plan).bytes(device, *step.plan));
        continue;
      }
      const WeightStore& store = weights < shared.values ? kernels.weights : own.of(step);
      if (const auto missing = store.missing(*step.plan, weights, plan.sizes.shape(pointer.value)))
        layouts[fmt::format("{} {}", device.name(), missing->key)] = missing->bytes;
    }
  }
  for (const auto& [key, each] : layouts) bytes = checked_add(bytes, each);
  return bytes;
}

}  // namespace

void require_memory_for_runs(const RunPlan& plan, const StepCalls& calls, const SharedKernels& shared,
                             const OwnWeights& own, const HostSteps& host_steps, int scratch_areas, int64_t held) {
  const int64_t outputs = plan.output_bytes(), laid_out = layout_bytes(plan, shared, own),
                areas = checked_add(checked_mul(calls.scratch_bytes, scratch_areas), host_steps.bytes()),
                in_workspace = checked_add(plan.arena.bytes, areas),
                whole = checked_add(in_workspace, checked_add(laid_out, outputs)),
                more = std::max<int64_t>(checked_sub(whole, std::min(held, in_workspace)), 0);
  require_memory(more, fmt::format("a run of these shapes ({} for what it computes, {} of scratch memory for {} "
                                   "threads, {} of weights laid out, {} of outputs)",
                                   human_bytes(plan.arena.bytes), human_bytes(areas), scratch_areas,
                                   human_bytes(laid_out), human_bytes(outputs)));
}

}  // namespace hone
