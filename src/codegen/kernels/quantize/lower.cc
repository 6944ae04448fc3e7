// Values rounded to a number format.
#include "codegen/kernels/quantize/plan.h"
#include "codegen/kernels/quantize/spans.h"
#include "codegen/lowering.h"

namespace hone {

Support lower_quantize(const Lowering& lowering, Prepared& prepared) {
  std::vector<StepDraft>& steps = prepared.steps;
  const StepDraft step = steps[0];
  const Graph& graph = lowering.graph;
  if (Support r = lowering.open_sizes(step.group); !r.supported()) return r;
  const Node& node = graph.node(step.group.anchor);
  const Format format = node.attributes.get<Format>("format");
  const ValueId x = node.operands[0], y = node.results[0];
  QuantizeArgs args;
  if (const Support support = quantize_args(format, lowering.fixed_shape(x), args); !support.supported())
    return support;
  QuantizePlan plan{.format = to_string(format), .x = graph.type(x).dtype, .result = graph.type(y).dtype};
  const QuantizeParts parts = quantize_parts(plan, lowering.target, args.dims());
  steps.assign(static_cast<size_t>(parts.stages) + 1, step);
  for (size_t s = 0; s < steps.size(); ++s) {
    const bool last = s + 1 == steps.size();
    plan.task = last ? QuantizePlan::Task::round : QuantizePlan::Task::reduce;
    plan.stage = last ? 0 : static_cast<int>(s);
    steps[s].plan = plan;
    steps[s].dims = args.dims();
    steps[s].dims[8] = parts.count;
    steps[s].shared_bytes = parts.bytes;
    lowering.bind(steps[s], x);
    lowering.bind(steps[s], last ? y : kNone, last ? Plane::data : Plane::none);
    for (int unused = 0; unused < 2; ++unused) lowering.bind(steps[s], kNone, Plane::none);
    lowering.bind(steps[s], kNone, parts.stages ? Plane::shared : Plane::none);
  }
  if (size_bytes(plan.x) == size_bytes(plan.result)) steps.back().overwritable.push_back(x);
  return {};
}

}  // namespace hone
