#include "codegen/conv_shape.h"
#include "codegen/prepack.h"
#include "codegen/winograd_shape.h"

namespace hone {

std::string prepack_key(const GemmPlan& plan, const Target& target) {
  const GemmShape shape = gemm_shape(plan, target);
  return fmt::format("{}x{} {} lanes {} vectors {}", plan.n, plan.k,
                     plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format, shape.lanes,
                     shape.vectors);
}

std::string prepack_key(const ConvPlan& plan, const Target& target) {
  if (plan.method != ConvPlan::Method::direct)
    return fmt::format("{} winograd {}", prepack_key(winograd_product(plan), target),
                       winograd_shape(plan, target).w->piece);
  const ConvShape shape = conv_shape(plan, target);
  return fmt::format("{} segment {} groups {} {}", prepack_key(laid_out_product(plan, target), target), shape.segment,
                     plan.groups, shape.gemm.panel == PanelType::pairs ? "pairs" : "singles");
}

}  // namespace hone
