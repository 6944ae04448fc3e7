// Values rounded to a number format, or turned into its codes.
#include "codegen/kernels/quantize/plan.h"
#include "codegen/kernels/quantize/spans.h"
#include "codegen/line_order.h"
#include "codegen/lowering.h"
#include "formats/scale.h"
#include "ops/calls.h"

namespace hone {
namespace {

// Whether the numbers that a kernel makes are the planes of a packed tensor as they lie.
Support planes_support(const Format& format, std::span<const int64_t> shape) {
  if (const Support support = pack_support(format, shape); !support.supported()) return support;
  const std::string name = to_string(format);
  if (format.scale_kind->global) return {fmt::format("{} has a scale of the whole tensor", name)};
  if (format.scale.bits % 8 != 0) return {fmt::format("scales of {} bits", format.scale.bits)};
  if (!LineOrder(format, shape).is_row_major()) return {fmt::format("{}: groups along another axis than rows", name)};
  return {};
}

}  // namespace

Support lower_quantize(const Lowering& lowering, Prepared& prepared) {
  std::vector<StepDraft>& steps = prepared.steps;
  const StepDraft step = steps[0];
  const Graph& graph = lowering.graph;
  if (Support r = lowering.open_sizes(step.group); !r.supported()) return r;
  const Node& node = graph.node(step.group.anchor);
  if (node.operands.size() > 1) return {"scales that are given: expand_fake_quant makes pointwise operations of that"};
  const Format format = node.attributes.get<Format>("format");
  const ValueId x = node.operands[0], y = node.results[0];
  const bool packs = node.op == &quantize_def;
  const std::vector<int64_t> shape = lowering.fixed_shape(x);
  QuantizePlan plan{.format = packs ? name_of_lines(format) : to_string(format),
                    .x = graph.type(x).dtype,
                    .result = graph.type(y).dtype};
  KernelDims dims;
  if (packs) {
    if (const Support support = planes_support(format, shape); !support.supported()) return support;
    dims = pack_dims(format, packed_layout(format, shape));
    if (format.scale_kind->code) plan.scale_bytes = format.scale.bits / 8;
    if (format.scale_kind->zero_point) plan.zero_point_bytes = zero_point_bytes(format);
  } else {
    QuantizeArgs args;
    if (const Support support = quantize_args(format, shape, args); !support.supported()) return support;
    dims = args.dims();
  }
  const QuantizeParts parts = quantize_parts(plan, lowering.target, dims);
  steps.assign(static_cast<size_t>(parts.stages) + 1, step);
  for (size_t s = 0; s < steps.size(); ++s) {
    const bool last = s + 1 == steps.size();
    plan.task = !last ? QuantizePlan::Task::reduce : packs ? QuantizePlan::Task::pack : QuantizePlan::Task::round;
    plan.stage = last ? 0 : static_cast<int>(s);
    steps[s].plan = plan;
    steps[s].dims = dims;
    steps[s].dims[8] = parts.count;
    steps[s].shared_bytes = parts.bytes;
    lowering.bind(steps[s], x);
    lowering.bind(steps[s], last ? y : kNone, last ? Plane::data : Plane::none);
    for (const Plane plane : {Plane::scales, Plane::zero_points})
      lowering.bind(steps[s], last && packs ? y : kNone, last && packs ? plane : Plane::none);
    lowering.bind(steps[s], kNone, parts.stages ? Plane::shared : Plane::none);
  }
  if (!packs && size_bytes(plan.x) == size_bytes(plan.result)) steps.back().overwritable.push_back(x);
  return {};
}

}  // namespace hone
