#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "passes/compress/nonfinite.h"
#include "passes/compress/quantize.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {

OnNonfinite parse_on_nonfinite(const std::string& text) {
  if (text == "error") return OnNonfinite::error;
  if (text == "saturate") return OnNonfinite::saturate;
  if (text == "keep") return OnNonfinite::keep;
  fail("on-nonfinite is \"{}\"; accepted: error, saturate, keep", text);
}

NonfiniteCounts count_nonfinite(std::span<const float> values) {
  NonfiniteCounts counts;
  for (float v : values) counts.nan += std::isnan(v), counts.inf += std::isinf(v);
  return counts;
}

Tensor saturate_nonfinite(const Tensor& tensor) {
  std::vector<float> values = tensor.to_floats();
  float largest = 0;
  for (float v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (float& v : values) v = std::isnan(v) ? 0 : std::clamp(v, -largest, largest);
  return Tensor::from_floats(tensor.dtype(), tensor.shape(), values);
}

namespace {

void check_nonfinite(const std::string& text) { parse_on_nonfinite(text); }

constexpr OptionField<NonfiniteOptions> kFields[] = {
    {"on-nonfinite", "what to do with NaN and infinite weights: error, saturate or keep",
     &NonfiniteOptions::on_nonfinite, check_nonfinite},
};

// What is refused is appended to `refused`, for one error about the whole model.
Graph repaired(Graph graph, const QuantizationPlan& plan, OnNonfinite policy, std::string& refused) {
  for (const BodyPlan& inner : plan.bodies) {
    std::vector<Graph> bodies = graph.node(inner.node).subgraphs;
    bodies[inner.body] = repaired(std::move(bodies[inner.body]), inner.plan, policy, refused);
    graph.set_subgraphs(inner.node, std::move(bodies));
  }
  for (const QuantizeChoice& choice : plan.constants) {
    if (!choice.format) continue;
    const Tensor& tensor = *graph.constant(choice.value);
    const NonfiniteCounts counts = count_nonfinite(tensor.to_floats());
    if (counts.total() == 0) continue;
    if (policy == OnNonfinite::saturate) graph.set_constant(choice.value, saturate_nonfinite(tensor));
    else
      refused += fmt::format("\n  {}: {} NaN and {} infinite of {} values", choice.name, counts.nan, counts.inf,
                             tensor.elements());
  }
  return graph;
}

Graph repair_nonfinite(Graph graph, const PassContext&, const FormatRules& rules, const NonfiniteOptions& options) {
  const OnNonfinite policy = parse_on_nonfinite(options.on_nonfinite);
  if (policy == OnNonfinite::keep) return graph;
  const QuantizationPlan plan = plan_quantization(graph, rules);
  std::string refused;
  graph = repaired(std::move(graph), plan, policy, refused);
  if (!refused.empty())
    fail(
        "values that are not finite can't be quantized:{}\nKeep these tensors (--skip), let infinities become the "
        "largest finite magnitude of their tensor and NaN 0 (--on-nonfinite saturate), or their groups NaN "
        "(--on-nonfinite keep)",
        refused);
  graph.reinfer();
  return graph;
}

}  // namespace

std::span<const OptionField<NonfiniteOptions>> NonfiniteOptions::fields() { return kFields; }

extern constinit const PassDef repair_nonfinite_def{.name = "repair_nonfinite",
                                                    .doc =
                                                        "NaN and infinities of the constants that are to be quantized "
                                                        "are refused, saturated or kept.",
                                                    .run = with_options<repair_nonfinite>};

}  // namespace hone
