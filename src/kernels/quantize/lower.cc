// Values rounded to a number format, or turned into its codes.
#include <algorithm>

#include "formats/scale.h"
#include "kernels/line_order.h"
#include "kernels/lowering.h"
#include "kernels/quantize/plan.h"
#include "kernels/quantize/spans.h"
#include "ops/calls/integer_products.h"
#include "ops/calls/quantize.h"

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

// Whether a kernel makes the results that are read, and those that it makes have memory.
bool has_all_numbers(const Group& group, const Node& node, const Format& format) {
  const auto is_read = [&](size_t i) { return std::ranges::count(group.results, node.results[i]) > 0; };
  return is_read(0) && is_read(1) && is_read(2) == (format.scale_kind->zero_point != nullptr);
}

// Rows are groups as long as they are.
Format with_rows_as_groups(Format format, std::span<const int64_t> shape) {
  Geometry& g = format.geometry;
  const bool has_rows = g.kind == Geometry::Kind::tile && g.rows == 1 && g.columns == 0 && !shape.empty();
  constexpr int64_t kLongestGroup = 65536;
  if (has_rows && shape.back() > 0 && shape.back() <= kLongestGroup)
    g = {.kind = Geometry::Kind::group, .columns = shape.back()};
  return format;
}

}  // namespace

Support lower_quantize(const Lowering& lowering, Prepared& prepared) {
  std::vector<StepDraft>& steps = prepared.steps;
  const StepDraft step = steps[0];
  const Graph& graph = lowering.graph;
  if (Support r = lowering.open_sizes(step.group); !r.supported()) return r;
  const Node& node = graph.node(step.group.anchor);
  if (node.operands.size() > 1) return {"scales that are given: expand_fake_quant makes pointwise operations of that"};
  const ValueId x = node.operands[0], y = node.results[0];
  const bool is_dynamic = node.op == &quantize_dynamic_def, packs = node.op == &quantize_def || is_dynamic;
  const std::vector<int64_t> shape = lowering.fixed_shape(x);
  const Format format = with_rows_as_groups(node.attributes.get<Format>("format"), shape);
  QuantizePlan plan{.format = packs ? name_of_lines(format) : to_string(format),
                    .x = graph.type(x).dtype,
                    .result = packs ? DType::f32 : graph.type(y).dtype};
  QuantizeArgs args;
  if (packs) {
    if (const Support support = planes_support(format, shape); !support.supported()) return support;
    args = pack_args(format, packed_layout(format, shape));
    if (format.scale_kind->code) plan.scale_bytes = format.scale.bits / 8;
    if (format.scale_kind->zero_point) plan.zero_point_bytes = zero_point_bytes(format);
    if (is_dynamic && !has_all_numbers(step.group, node, format)) return {"numbers that are not read, or not made"};
  } else {
    if (const Support support = quantize_args(format, shape, args); !support.supported()) return support;
  }
  const QuantizeStages stages = quantize_stages(format);
  args.part_count = stages.count ? 1 : 0;
  steps.assign(static_cast<size_t>(stages.count) + 1, step);
  for (size_t s = 0; s < steps.size(); ++s) {
    const bool last = s + 1 == steps.size();
    plan.task = !last ? QuantizePlan::Task::reduce : packs ? QuantizePlan::Task::pack : QuantizePlan::Task::round;
    plan.stage = last ? 0 : static_cast<int>(s);
    steps[s].plan = plan;
    steps[s].set(args);
    steps[s].shared_bytes = stages.part_bytes;
    lowering.bind(steps[s], x);
    lowering.bind(steps[s], last ? y : kNone, last ? Plane::data : Plane::none);
    for (const Plane plane : {Plane::scales, Plane::zero_points}) {
      const size_t result = plane == Plane::scales ? 1 : 2;
      if (!last || !packs) lowering.bind(steps[s], kNone, Plane::none);
      else if (!is_dynamic) lowering.bind(steps[s], y, plane);
      else if (result == 2 && !format.scale_kind->zero_point) lowering.bind(steps[s], kNone, Plane::none);
      else lowering.bind(steps[s], node.results[result]);
    }
    lowering.bind(steps[s], kNone, stages.count ? Plane::shared : Plane::none);
  }
  if (!packs && size_bytes(plan.x) == size_bytes(plan.result)) steps.back().overwritable.push_back(x);
  return {};
}

}  // namespace hone
