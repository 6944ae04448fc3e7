#include "runtime/run_weights.h"

#include <algorithm>

#include "base/checked.h"
#include "runtime/run_values.h"

namespace hone {

void RunWeights::add(size_t step, int position, ValueId seen) {
  const ValueId value = plan_.holder(seen);
  laid_out_.push_back({step, position, value, seen, !is_laid_out_in_runs(plan_.graph(), value)});
}

int64_t RunWeights::bytes() const {
  int64_t bytes = 0;
  std::map<std::string, int64_t> kept;  // by what ParameterStore knows it by
  for (const LaidOut& each : laid_out_) {
    const Step& step = plan_.lowered.steps[each.step];
    const Device& device = plan_.device_of(step);
    const int64_t own = prepacking(device, *step.plan).bytes(device, *step.plan);
    const std::string key = layout_key(device, *step.plan, each.value, plan_.sizes.shape(each.seen));
    if (each.is_kept) kept[fmt::format("{} {}", device.name(), key)] = own;
    else bytes = checked_add(bytes, own);
  }
  for (const auto& [key, own] : kept) bytes = checked_add(bytes, own);
  return bytes;
}

void RunWeights::point(const LaidOut& each, const Buffer& panels, Workspace& workspace) const {
  const auto position = static_cast<size_t>(each.position);
  workspace.bound.args[each.step].pointers[position] =
      panels.address() + plan_.lowered.steps[each.step]->pointers[position].byte_offset;
}

void RunWeights::lay_out_kept(const std::map<std::string, Tensor>& inputs, Workspace& workspace) const {
  workspace.bound.laid_out.resize(laid_out_.size());
  for (size_t l = 0; l < laid_out_.size(); ++l) {
    const LaidOut& each = laid_out_[l];
    if (!each.is_kept) continue;
    const Tensor& held = inputs.at(plan_.graph().value(each.value).label);
    Buffer& panels = workspace.bound.laid_out[l];
    const Step& step = plan_.lowered.steps[each.step];
    panels = kernels_.of(step).parameters.get(*step.plan, each.value, plan_.seen_as(each.seen, held));
    point(each, panels, workspace);
  }
}

bool RunWeights::computes(size_t step) const {
  const auto [first, last] = std::ranges::equal_range(laid_out_, step, {}, &LaidOut::step);
  return std::any_of(first, last, [](const LaidOut& each) { return !each.is_kept; });
}

// The memory stays for the next run.
void RunWeights::lay_out_computed(size_t step, const RunValues& values, Workspace& workspace) const {
  const auto first = std::ranges::lower_bound(laid_out_, step, {}, &LaidOut::step);
  for (auto each = first; each != laid_out_.end() && each->step == step; ++each) {
    if (each->is_kept) continue;
    Buffer& panels = workspace.bound.laid_out[static_cast<size_t>(each - laid_out_.begin())];
    put(*each, panels, plan_.seen_as(each->seen, values.view(each->value)), workspace);
    point(*each, panels, workspace);
  }
}

void RunWeights::put(const LaidOut& each, Buffer& panels, const Tensor& value, const Workspace& workspace) const {
  const Step& step = plan_.lowered.steps[each.step];
  const Device& device = plan_.device_of(step);
  if (!device.is_host()) {
    const Buffer laid_out = lay_out(device, *step.plan, value, plan_.threads);
    if (panels.size() == 0) panels = workspace.allocate(laid_out.size());
    workspace.queue().write(panels.address(), laid_out.bytes());
    workspace.queue().synchronise();  // before what lies on the host goes
  } else if (panels.size() == 0) panels = lay_out(device, *step.plan, value, plan_.threads);
  else prepacking(device, *step.plan).lay_out(device, *step.plan, value, plan_.threads, panels.address());
}

}  // namespace hone
