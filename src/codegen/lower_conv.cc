// Convolutions over channels-last planes with constant weights as a matrix.
#include "codegen/conv_shape.h"
#include "codegen/lowering.h"
#include "codegen/shapes.h"
#include "codegen/winograd_shape.h"
#include "ops/window.h"

namespace hone {

Refusal Lowering::conv(Step& step) const {
  const Node& node = graph.node(step.group.anchor);
  if (std::string_view(node.op->name) != "conv") return {fmt::format("no generator for {}", node.op->name)};
  if (!channels_last(node.attributes)) return {"channels that are not last"};
  const ValueId x = node.operands[0], w = node.operands[1];
  const std::vector<int64_t> in = shape_of(graph, x), out = shape_of(graph, node.results[0]);
  if (in.size() != 4) return {fmt::format("{} spatial dimensions", in.size() - 2)};
  if (graph.type(w).rank() != 2) return {"weights that are not a matrix"};
  if (graph.type(x).is_packed()) return {"x is a packed constant"};
  ConvPlan plan;
  plan.window = plane_window(node.attributes, in, out);
  plan.groups = node.attributes.get_or<int64_t>("groups", 1);
  plan.channels = in[3] / plan.groups;
  plan.product.n = out[3] / plan.groups, plan.product.k = plan.window.taps() * plan.channels;
  plan.product.a = graph.type(x).dtype;
  if (Refusal r = weights(plan.product, w, true); !r.accepted()) return r;
  if (plan.product.weights != GemmPlan::Weights::prepacked) return {"weights that are not constant"};
  if (plan.groups > 1) {
    if (!plan.product.w_format.empty()) plan.product.w = DType::f32;
    plan.product.w_format.clear();
    plan.product.result_row_stride = out[3];
  }
  bind(step, x);
  bind(step, w, Plane::prepacked);
  if (Refusal r = epilogue(step, plan.product, node.operands.size() > 2 ? node.operands[2] : kNone, false);
      !r.accepted())
    return r;
  if (!exact) plan.method = fastest_method(plan, isa, out[0]);
  step.dims[0] = rows_of(out);
  step.dims[1] = out[0];
  step.plan = plan;
  return {};
}

}  // namespace hone
