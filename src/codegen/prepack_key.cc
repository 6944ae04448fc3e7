#include "codegen/conv_shape.h"
#include "codegen/prepack.h"
#include "codegen/winograd_shape.h"

namespace hone {

std::string prepack_key(const GemmPlan& plan, IsaLevel isa) {
  const GemmShape shape = gemm_shape(plan, isa);
  return fmt::format("{}x{} {} lanes {} vectors {}", plan.n, plan.k,
                     plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format, shape.lanes,
                     shape.vectors);
}

std::string prepack_key(const ConvPlan& plan, IsaLevel isa) {
  if (plan.method != ConvPlan::Method::direct)
    return fmt::format("{} winograd {}", prepack_key(winograd_product(plan), isa), winograd_shape(plan, isa).w->piece);
  const ConvShape shape = conv_shape(plan, isa);
  return fmt::format("{} segment {} groups {} {}", prepack_key(laid_out_product(plan, isa), isa), shape.segment,
                     plan.groups, shape.gemm.panel == PanelType::pairs ? "pairs" : "singles");
}

}  // namespace hone
