#include "runtime/host_steps.h"

#include <algorithm>

#include "base/checked.h"

namespace hone {

HostSteps::HostSteps(const RunPlan& plan, const StepCalls& calls)
    : plan_(plan),
      host_(std::ranges::any_of(plan.lowered.steps, &StepCall::on_host) ? plan.prepared->options().host.device
                                                                        : nullptr),
      scratch_bytes_(calls.host_scratch_bytes) {
  if (plan.on_host) return;
  int64_t passed = 0;  // from one step of a group to the next, before the copies
  for (const Step& step : plan.lowered.steps)
    if (step.on_host()) passed = std::max(passed, checked_add(step.shared_bytes, 63) / 64 * 64);
  for (size_t i = 0; i < plan.lowered.steps.size(); ++i) {
    if (!plan.lowered.steps[i].on_host()) continue;
    const HostStep step = host_step(plan.graph(), plan.lowered, i, plan.sizes, passed);
    area_bytes_ = std::max(area_bytes_, step.area_bytes);
    copied_.emplace(i, step);
  }
}

int64_t HostSteps::bytes() const {
  return checked_add(area_bytes_, host_ ? checked_mul(scratch_bytes_, host_->scratch_areas(plan_.threads)) : 0);
}

void HostSteps::reserve(Workspace& workspace) const {
  if (host_)
    workspace.host_part().reserve(host_, host_->generation(), area_bytes_, scratch_bytes_,
                                  host_->scratch_areas(plan_.threads));
}

std::optional<int64_t> HostSteps::place(size_t step, const PointerBinding& pointer) const {
  if (pointer.plane == PointerBinding::Plane::shared) return pointer.byte_offset;
  const HostStep::Value* const value = copied_.at(step).find(plan_.holder(pointer.value));
  if (!value) return std::nullopt;
  return value->offset + plane_offsets(value->sizes)[index_of(pointer.plane)] + pointer.byte_offset;
}

void HostSteps::run(size_t step, const StepCalls::Ready& ready, const RunValues& values,
                    const Workspace& workspace) const {
  static const HostStep kNothingCopied;
  const auto found = copied_.find(step);
  const HostStep& copies = found == copied_.end() ? kNothingCopied : found->second;
  const Workspace& host = workspace.host_part();
  const auto read = [&](ValueId v, size_t plane, std::span<std::byte> to) { values.read(v, plane, to); };
  const auto write = [&](ValueId v, size_t plane, std::span<const std::byte> from) {
    workspace.queue().write(values.address(v, plane), from);
  };
  read_operands(copies, read, host.arena());
  workspace.queue().synchronise();
  host.queue().launch(ready.code, workspace.bound.args[step], ready.call,
                      host.scratch(host_->scratch_areas(plan_.threads)));
  host.queue().synchronise();
  write_results(copies, write, host.arena());
}

}  // namespace hone
