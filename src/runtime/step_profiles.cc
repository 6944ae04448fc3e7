#include "runtime/step_profiles.h"

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
  for (const Step& step : plan.lowered.steps) {
    const StepWork work = work_of(fixed, step, plan.sizes);
    profiles.push_back({.name = step->name,
                        .kind = step.plan ? std::string(step.plan->kernel().name) : "interpreted",
                        .ops = plan.ops_of(step),
                        .why_interpreted = step->why_interpreted,
                        .flops = work.flops,
                        .bytes = work.bytes,
                        .weight_bytes = work.weight_bytes,
                        .unit = step.plan ? speed(*plan.device, *step.plan).unit : ProductUnit::f32,
                        .weights = weights_of(plan, step)});
  }
  return profiles;
}

}  // namespace hone
