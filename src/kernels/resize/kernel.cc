// Images of another size: when the class applies, and plans for planes of any size.
#include <utility>

#include "kernels/resize/plan.h"

namespace hone {
namespace {

bool takes(const OpDef& op) { return is_one_of(op, {"resize"}); }

constexpr KernelClass<ResizePlan> resize{.name = "resize",
                                         .doc = "images of another size, from tables of places and weights",
                                         .takes = takes,
                                         .precedence = -1,  // behind pointwise, which copies what is regular
                                         .lower = lower_resize};

}  // namespace

ResizeTables for_any_plane(ResizePlan& plan, ResizeArgs& args) {
  args.height = plan.height, args.width = plan.width;
  args.row_places = plan.rows.places(), args.column_places = plan.columns.places();
  const auto taken = [](ResizePlan::Axis& axis) { return std::exchange(axis, {.taps = axis.taps}); };
  ResizeTables tables{taken(plan.rows), taken(plan.columns)};
  plan.height = plan.width = 0;
  plan.any_plane = true;
  return tables;
}

extern constinit const KernelDef resize_kernel_def = kernel_def<resize>();
const KernelDef& ResizePlan::kernel() { return resize_kernel_def; }

}  // namespace hone
