#include "runtime/step_calls.h"

#include <algorithm>

namespace hone {

StepCalls::StepCalls(const RunPlan& plan) {
  const std::vector<Step>& steps = plan.lowered.steps;
  ready.resize(steps.size());
  args.resize(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (!step.plan) {
      if (plan.computes_nothing(step)) continue;
      ready[i].how = How::interpreted;
      interpreted.emplace(i, InterpretedStep(plan, step));
      continue;
    }
    args[i].dims = step.dims;
    ready[i].call = launch(*plan.device, *step.plan, args[i]);
    ready[i].call.name = step->name;
    if (ready[i].call.items > 0 && !plan.is_in_place(step)) ready[i].how = How::kernel;
    if (ready[i].how == How::kernel && step.plan->kernel().trusted.fault) {
      if (trusts_given_values(plan.graph(), plan.lowered, step)) checked_first.push_back(i);
      else ready[i].how = How::checked;
    }
    scratch_bytes = std::max(scratch_bytes, ready[i].call.scratch_bytes);
    CHECK(step->pointers.size() <= args[i].pointers.size(), "step {} has {} pointers", step->name,
          step->pointers.size());
  }
}

void StepCalls::find_code(const RunPlan& plan, SharedKernels& shared) {
  std::vector<KernelPlan> plans;
  std::vector<size_t> missing;
  for (size_t i = 0; i < ready.size(); ++i) {
    const Step& step = plan.lowered.steps[i];
    if (!step.plan) continue;
    const auto found = step.lasting ? shared.lasting.find(step.plan->identity()) : shared.lasting.end();
    if (found != shared.lasting.end()) {
      ready[i].code = found->second.code;
      continue;
    }
    plans.push_back(*step.plan);
    missing.push_back(i);
  }
  if (plans.empty()) return;
  const std::vector<Code> codes = shared.compiler->compile(plans);
  for (size_t k = 0; k < missing.size(); ++k) {
    ready[missing[k]].code = codes[k];
    if (plan.lowered.steps[missing[k]].lasting)
      shared.lasting.emplace(plans[k].identity(), SharedKernels::Lasting{plans[k], codes[k]});
  }
}

void check_trusted(const RunPlan& plan, const Step& step, KernelArgs args, const RunValues& values) {
  const TrustedOperands& trusted = step.plan->kernel().trusted;
  const auto binding = [&](int position) -> const PointerBinding& {
    return step->pointers[static_cast<size_t>(position)];
  };
  const auto operand = [&](int position) -> OperandNames {
    const Value& value = plan.graph().value(binding(position).value);
    return {value.name, value.label};
  };
  std::array<Tensor, std::tuple_size_v<decltype(trusted.positions)>> copies;
  for (size_t c = 0; !plan.on_host && c < copies.size(); ++c) {
    const int position = trusted.positions[c];
    if (position < 0 || binding(position).value == kNone) continue;
    copies[c] = values.view(binding(position).value);
    args.pointers[static_cast<size_t>(position)] = copies[c].data().address() + binding(position).byte_offset;
  }
  const std::string fault = trusted.fault(*step.plan, args, operand);
  if (!fault.empty()) throw Error(fault);
}

}  // namespace hone
