#include "runtime/step_profiles.h"

#include "runtime/host_step.h"

namespace hone {
namespace {

// Labels of the constants that the step reads.
std::vector<std::string> weights_of(const RunPlan& plan, const Step& step) {
  std::vector<std::string> labels;
  for (ValueId v : step->reads) {
    const Value& weights = plan.graph().value(plan.holder(v));
    if (weights.constant && !weights.label.empty()) labels.push_back(weights.label);
  }
  return labels;
}

}  // namespace

std::vector<StepProfile> step_profiles(const RunPlan& plan) {
  const Graph fixed = specialise(plan.graph(), plan.sizes.bindings());
  std::vector<StepProfile> profiles;
  for (size_t i = 0; i < plan.lowered.steps.size(); ++i) {
    const Step& step = plan.lowered.steps[i];
    const StepWork work = work_of(fixed, step, plan.sizes);
    profiles.push_back(
        {.name = step->name,
         .kind = step.plan ? std::string(step.plan->kernel().name) : "interpreted",
         .ops = plan.ops_of(step),
         .why_interpreted = step->why_interpreted,
         .flops = work.flops,
         .bytes = work.bytes,
         .weight_bytes = work.weight_bytes,
         .unit = step.plan ? speed(plan.device_of(step), *step.plan).unit : ProductUnit::f32,
         .weights = weights_of(plan, step),
         .why_on_host = step.why_on_host,
         .copied_bytes = static_cast<double>(copied_bytes(*plan.device, plan.graph(), plan.lowered, i, plan.sizes))});
  }
  return profiles;
}

}  // namespace hone
