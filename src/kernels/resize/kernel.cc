// What follows from the plan of a resize.
#include <algorithm>
#include <utility>

#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/resize/plan.h"

namespace hone {
namespace {

Support supports(const ResizePlan& plan, const Target&) {
  for (DType dtype : {plan.x, plan.result})
    if (!has_machine_type(dtype) || compute_scalar(dtype) != Scalar::f32)
      return {fmt::format("places between elements of {}", to_string(dtype))};
  return {};
}

Launch launch(const ResizePlan& plan, const Target& target, KernelArgs& args) {
  const int64_t rows = plan.any_plane ? args.dims[3] : plan.rows.places(),
                columns = plan.any_plane ? args.dims[4] : plan.columns.places();
  const double vectors = static_cast<double>(plan.channels) / target.lanes() + 1;
  const double ns = static_cast<double>(columns * (plan.rows.taps * plan.columns.taps + 4)) * vectors / 2;
  return {args.dims[0] * rows, std::max<int64_t>(1, static_cast<int64_t>(20000 / std::max(ns, 1.0)))};
}

std::string describe(const ResizePlan& plan, const Target&) {
  return fmt::format("{} x {} elements for each place, from tables", plan.rows.taps, plan.columns.taps);
}

bool takes(const OpDef& op) { return is_one_of(op, {"resize"}); }

constexpr KernelClass<ResizePlan> resize{.name = "resize",
                                         .doc = "images of another size, from tables of places and weights",
                                         .takes = takes,
                                         .precedence = -1,  // behind pointwise, which copies what is regular
                                         .lower = lower_resize,
                                         .supports = supports,
                                         .launch = launch,
                                         .describe = describe};

}  // namespace

ResizeTables for_any_plane(ResizePlan& plan, KernelDims& dims) {
  dims[1] = plan.height, dims[2] = plan.width, dims[3] = plan.rows.places(), dims[4] = plan.columns.places();
  const auto taken = [](ResizePlan::Axis& axis) { return std::exchange(axis, {.taps = axis.taps}); };
  ResizeTables tables{taken(plan.rows), taken(plan.columns)};
  plan.height = plan.width = 0;
  plan.any_plane = true;
  return tables;
}

extern constinit const KernelDef resize_kernel_def = kernel_def<resize>();
const KernelDef& ResizePlan::kernel() { return resize_kernel_def; }

}  // namespace hone
