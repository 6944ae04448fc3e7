// Products with scales of blocks.
#include "kernels/block_gemm/plan.h"
#include "kernels/lowering.h"

namespace hone {

Support lower_block_gemm(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const ValueId x = node.operands[0], w = node.operands[1];
  const Shape x_shape = lowering.shape(x), w_shape = lowering.shape(w);
  if (!is_constant(w_shape) || !lowering.is_laid_out(w)) return {"weights that are laid out in no run"};
  BlockGemmPlan plan;
  plan.n = w_shape[0].constant(), plan.k = w_shape[1].constant();
  plan.w_format = to_string(*graph.type(w).format);
  const bool has_scales = graph.type(x).is_packed();
  if (has_scales) plan.x_format = to_string(*graph.type(x).format);
  lowering.bind(step, x);
  lowering.bind(step, w, Plane::prepacked);
  if (Support r = lowering.epilogue(step, plan, Expr::arg(0, Scalar::f32), 1, kNone, false); !r.supported()) return r;
  if (has_scales) lowering.bind(step, x, Plane::scales);
  const Extent m = lowering.count({x_shape.begin(), x_shape.end() - 1});
  step.plan = plan;
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(BlockGemmArgs{.m = sizes.of(m)});
    return Support{};
  };
  return {};
}

}  // namespace hone
