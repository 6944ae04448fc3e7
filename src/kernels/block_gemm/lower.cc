// Products with scales of blocks.
#include "device/x86/block_gemm/shape.h"
#include "kernels/lowering.h"

namespace hone {
namespace {

// The heights of the strips of m rows.
void only_rows(BlockGemmPlan& plan, const Target& target, int64_t m) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  const int64_t block = s.block_rows(m);
  plan.shortest = s.rows, plan.tallest = 1;
  for (int64_t height : {std::min(block, m), m % block}) {
    if (height == 0) continue;
    const Strips strips = strips_of(height, s.rows);
    plan.shortest = std::min(plan.shortest, static_cast<int>(strips.height));
    plan.tallest = std::max(plan.tallest, static_cast<int>(strips.height + (strips.taller > 0)));
  }
}

}  // namespace

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
  prepared.place = [=, target = lowering.target, plans = PlanVariants<bool>()](const RunSizes& sizes,
                                                                               StepCall& placed) mutable {
    placed.dims[0] = sizes.of(m);
    return plans.choose(true, target, placed, [&] {
      BlockGemmPlan chosen = plan;
      chosen.by_tiles = (!m.is_constant() || m.number >= kLeastTileRows) && fits_tiles(plan, target);
      if (m.is_constant()) only_rows(chosen, target, m.number);
      return KernelPlan(chosen);
    });
  };
  return {};
}

}  // namespace hone
