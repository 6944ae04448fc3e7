#include "runtime/memory_needs.h"

#include <algorithm>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "base/text.h"

namespace hone {
namespace {

// Of weights that are still to be laid out, and of those that runs lay out, for steps of the host or of the device.
int64_t layout_bytes(const RunPlan& plan, const SharedKernels& shared, const OwnWeights& own, bool on_host) {
  int64_t bytes = 0;
  std::map<std::string, int64_t> layouts;
  for (const Step& step : plan.lowered.steps) {
    if (!step.plan || step.on_host() != on_host) continue;
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

// Of constants that kernels read as they are, and that a device with memory of its own lacks.
int64_t copied_bytes(const RunPlan& plan, const SharedKernels& shared) {
  std::map<const std::byte*, int64_t> missing;
  for (const Step& step : plan.lowered.steps) {
    if (!step.plan || step.on_host()) continue;
    for (const PointerBinding& pointer : step->pointers) {
      if (pointer.value == kNone || pointer.plane == PointerBinding::Plane::prepacked) continue;
      const Tensor* constant = plan.constant(plan.holder(pointer.value));
      if (!constant) continue;
      const Buffer& plane = *constant->buffers()[index_of(pointer.plane)];
      if (!shared.has(plane)) missing[plane.address()] = static_cast<int64_t>(plane.size());
    }
  }
  int64_t bytes = 0;
  for (const auto& [address, each] : missing) bytes = checked_add(bytes, each);
  return bytes;
}

// How many of its rows a run could have beside its weights, where there are several; else what its weights would have
// to shrink to.
std::string what_would_fit(const RunPlan& plan, int64_t free, int64_t weights, int64_t rest) {
  int64_t rows = 0;
  for (ValueId v : plan.graph().inputs())
    if (const auto& shape = plan.sizes.shape(v); !shape.empty()) rows = std::max(rows, shape[0]);
  const double share = static_cast<double>(free - weights) / static_cast<double>(std::max<int64_t>(rest, 1));
  if (const auto fitting = static_cast<int64_t>(share * static_cast<double>(rows)); fitting >= 1)
    return fmt::format("A batch of about {} in place of {} fits (--batch)", fitting, rows);
  constexpr int64_t kLeastPercent = 13;  // 4 of 32 bits
  if (const int64_t percent = weights > 0 ? 100 * (free - rest) / weights : 0; percent >= kLeastPercent)
    return fmt::format("Weights of {} % of their bytes fit: quantize them (hone quantize --to mxint8, mxfp4)", percent);
  return "It is too large for this device at any batch and in any format";
}

// Constants and what a run takes, held against what the device has free.
void require_device_memory(const RunPlan& plan, int64_t free, int64_t weights, int64_t rest, int64_t held) {
  const int64_t more = std::max<int64_t>(checked_sub(checked_add(weights, rest), held), 0);
  if (more <= free) return;
  throw MemoryError(fmt::format(
      "a run of these shapes needs {} more on device {} ({} of weights, {} for what it computes, inputs and outputs), "
      "and {} are free there. {}, or use --device cpu",
      human_bytes(static_cast<double>(more)), text_of(*plan.device), human_bytes(static_cast<double>(weights)),
      human_bytes(static_cast<double>(rest)), human_bytes(static_cast<double>(free)),
      what_would_fit(plan, free, weights, checked_sub(rest, std::min(held, rest)))));
}

int64_t input_bytes(const RunPlan& plan) {
  int64_t bytes = 0;
  for (ValueId v : plan.graph().inputs())
    if (!plan.sizes.known(v)) bytes = checked_add(bytes, plan.bytes_of(v));
  return bytes;
}

}  // namespace

void require_memory_for_runs(const RunPlan& plan, const StepCalls& calls, const SharedKernels& shared,
                             const OwnWeights& own, const HostSteps& host_steps, int scratch_areas, int64_t held) {
  const int64_t outputs = plan.output_bytes(), laid_out = layout_bytes(plan, shared, own, false),
                on_host = layout_bytes(plan, shared, own, true),
                scratch = checked_mul(calls.scratch_bytes, scratch_areas);
  const std::optional<int64_t> free = plan.device->free_bytes();
  if (free) {
    const int64_t in_workspace = checked_add(plan.arena.bytes, scratch);
    require_device_memory(plan, *free, checked_add(laid_out, copied_bytes(plan, shared)),
                          checked_add(in_workspace, checked_add(outputs, input_bytes(plan))),
                          std::min(held, in_workspace));
  }
  // What lies in memory of a device's own passes through the host once: its weights, laid out there, and its outputs.
  const int64_t arena = free ? 0 : plan.arena.bytes, areas = checked_add(free ? 0 : scratch, host_steps.bytes()),
                in_workspace = checked_add(arena, areas), layouts = checked_add(laid_out, on_host),
                whole = checked_add(in_workspace, checked_add(layouts, outputs)),
                more = std::max<int64_t>(checked_sub(whole, std::min(held, in_workspace)), 0);
  require_memory(more, fmt::format("a run of these shapes ({} for what it computes, {} of scratch memory for {} "
                                   "threads, {} of weights laid out, {} of outputs)",
                                   human_bytes(arena), human_bytes(areas), scratch_areas, human_bytes(layouts),
                                   human_bytes(outputs)));
}

}  // namespace hone
