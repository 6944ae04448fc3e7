#include "kernels/lacking.h"

#include <algorithm>

namespace hone {

constexpr size_t kMostListed = 20;

std::vector<LackingStep> lacking_steps(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes) {
  std::vector<LackingStep> steps;
  for (const Step& step : lowered.steps) {
    const auto is_empty = [&](ValueId v) { return element_count(sizes.shape(v)) == 0; };
    if ((step.plan && !step.on_host()) || std::ranges::all_of(step->writes, is_empty)) continue;
    const std::string ops = ops_of(graph, step->group);
    if (!step.plan) steps.push_back({step->name, ops, "the interpreter", step->why_interpreted});
    else
      steps.push_back(
          {step->name, ops, fmt::format("the host's {} kernel", step.plan->kernel().name), step.why_on_host});
  }
  return steps;
}

void refuse_lacking(const Device& device, std::span<const LackingStep> steps) {
  if (steps.empty()) return;
  std::string list;
  for (const LackingStep& step : steps.first(std::min(steps.size(), kMostListed)))
    list += fmt::format("\n  %{} ({}): {}; {} would run it", step.name, step.ops, step.why, step.instead);
  if (steps.size() > kMostListed) list += fmt::format("\n  and {} more", steps.size() - kMostListed);
  fail("device {} has no kernel of its own for {} step{}; without --no-fallback the model runs:{}", text_of(device),
       steps.size(), steps.size() == 1 ? "" : "s", list);
}

}  // namespace hone
