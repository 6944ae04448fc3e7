// What follows from the plan of a transpose.
#include "base/multiples.h"
#include "kernels/transpose/plan.h"

namespace hone {
namespace {

Support supports(const TransposePlan& plan, const Target&) {
  if (plan.element_bytes != 1 && plan.element_bytes != 2 && plan.element_bytes != 4)
    return {fmt::format("squares of elements of {} bytes", plan.element_bytes)};
  return {};
}

Launch launch(const TransposePlan&, const Target& target, KernelArgs& args) {
  const int64_t lanes = target.lanes();
  return {.items = args.dims[0] * ceil_div(args.dims[1], kTransposeSquares * lanes) * ceil_div(args.dims[2], lanes),
          .items_per_chunk = 4};
}

std::string describe(const TransposePlan& plan, const Target&) {
  return fmt::format("squares of {}-byte elements in registers", plan.element_bytes);
}

bool takes(const OpDef& op) { return is_one_of(op, {"transpose"}); }

constexpr KernelClass<TransposePlan> transpose{
    .name = "transpose",
    .doc = "planes with rows and columns exchanged, in squares that fill registers",
    .takes = takes,
    .precedence = 1,  // before pointwise, which takes all that move
    .lower = lower_transpose,
    .supports = supports,
    .launch = launch,
    .describe = describe};

}  // namespace

extern constinit const KernelDef transpose_kernel_def = kernel_def<transpose>();
const KernelDef& TransposePlan::kernel() { return transpose_kernel_def; }

}  // namespace hone
