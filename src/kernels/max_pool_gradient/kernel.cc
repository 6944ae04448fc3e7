// What follows from the plan of a largest element's gradient.
#include <algorithm>

#include "base/multiples.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/max_pool_gradient/plan.h"

namespace hone {
namespace {

Support supports(const MaxPoolGradientPlan& plan, const Target&) {
  for (DType type : {plan.x, plan.d})
    if (!is_loadable(type) || compute_scalar(type) != Scalar::f32)
      return {fmt::format("gradients of {}", to_string(type))};
  return {};
}

Launch launch(const MaxPoolGradientPlan& plan, const Target& target, KernelArgs& args) {
  const PlaneWindow w = on_plane_of(plan.window, args.dims);
  const int64_t block = kMaxPoolBlockVectors * target.lanes();
  // Of a vector, each tap takes about 3 ns: a comparison, and an addition in memory.
  const int64_t ns = w.out_height * w.out_width * w.taps() * kMaxPoolBlockVectors * 3;
  return {.items = args.dims[0] * ceil_div(plan.channels, block),
          .items_per_chunk = std::max<int64_t>(1, 20'000 / std::max<int64_t>(ns, 1))};
}

std::string describe(const MaxPoolGradientPlan& plan, const Target&) {
  return fmt::format("{}x{} of {} channels", plan.window.kernel_height, plan.window.kernel_width, plan.channels);
}

KernelSpeed speed(const MaxPoolGradientPlan&, const Target&) { return {0.5, 0.05}; }

bool takes(const OpDef& op) { return is_one_of(op, {"max_pool_gradient"}); }

constexpr KernelClass<MaxPoolGradientPlan> max_pool_gradient{.name = "max_pool_gradient",
                                                             .doc = "gradients of the largest elements under a window",
                                                             .takes = takes,
                                                             .lower = lower_max_pool_gradient,
                                                             .supports = supports,
                                                             .launch = launch,
                                                             .describe = describe,
                                                             .speed = speed};

}  // namespace

extern constinit const KernelDef max_pool_gradient_kernel_def = kernel_def<max_pool_gradient>();
const KernelDef& MaxPoolGradientPlan::kernel() { return max_pool_gradient_kernel_def; }

}  // namespace hone
