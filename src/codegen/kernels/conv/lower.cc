// Convolutions over channels-last planes with constant weights as a matrix.
#include "codegen/kernel_sizes.h"
#include "codegen/kernels/conv/shape.h"
#include "codegen/kernels/conv/winograd_shape.h"
#include "codegen/lowering.h"
#include "codegen/plane_window.h"

namespace hone {

Refusal lower_conv(const Lowering& lowering, Prepared& prepared) {
  Step& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  if (Refusal r = lowering.open_sizes(step.group); !r.accepted()) return r;
  const auto placed = placed_window(lowering, step.group.anchor);
  if (!placed) return {"its channels are not the last of three or four dimensions"};
  if (const Refusal r = window_refusal(*placed); !r.accepted()) return r;
  const ValueId x = node.operands[0], w = node.operands[1];
  const int64_t groups = node.attributes.get_or<int64_t>("groups", 1),
                outputs = lowering.fixed_shape(node.results[0]).back();
  if (groups < 1 || placed->channels % groups != 0 || outputs % groups != 0)
    return {fmt::format("{} groups of {} channels and {} outputs", groups, placed->channels, outputs)};
  if (graph.type(x).is_packed()) return {"x is a packed constant"};
  if (groups > 1 && groups == placed->channels && groups == outputs) return {"a depthwise convolution"};
  ConvPlan plan;
  plan.window = placed->plane;
  plan.groups = groups;
  plan.channels = placed->channels / groups;
  plan.product.n = outputs / groups, plan.product.k = plan.window.taps() * plan.channels;
  plan.product.a = graph.type(x).dtype;
  const Tensor* constant = lowering.constant(w);
  if (!constant) return {"weights that are not constant"};
  if (constant->is_packed()) plan.product.w_format = to_string(*constant->format());
  else plan.product.w = constant->dtype();
  if (groups > 1) plan.product.result_row_stride = outputs;
  lowering.bind(step, x);
  lowering.bind(step, w, Plane::prepacked);
  const ValueId bias = node.operands.size() > 2 ? node.operands[2] : kNone;
  if (Refusal r = lowering.epilogue(step, plan.product, Expr::arg(0, Scalar::f32), 1, bias, false); !r.accepted())
    return r;
  const MethodChoice choice = choose_method(plan, lowering.target, placed->images, lowering.exact);
  plan.method = choice.method;
  step.refused = choice.refused;
  step.dims[0] = placed->images * plan.window.out_height * plan.window.out_width;
  step.dims[1] = placed->images;
  step.plan = plan;
  return {};
}

}  // namespace hone
