// What follows from the plan of means in regions.
#include <algorithm>
#include <cmath>

#include "codegen/kernels/roi_align/plan.h"

namespace hone {
namespace {

Support supports(const RoiAlignPlan& plan, const Target&) {
  if (plan.images != DType::i64 && plan.images != DType::i32)
    return {fmt::format("numbers of images of {}", to_string(plan.images))};
  return {};
}

Launch launch(const RoiAlignPlan& plan, const Target& target, KernelArgs& args) {
  const double places = static_cast<double>(args.dims[4] * args.dims[5] * plan.samples * plan.samples),
               vectors = static_cast<double>(plan.channels) / target.lanes() + 1;
  const double ns = places * (10 + 2 * vectors);
  return {args.dims[0], std::max<int64_t>(1, static_cast<int64_t>(20000 / std::max(ns, 1.0)))};
}

std::string describe(const RoiAlignPlan& plan, const Target&) {
  return fmt::format("means of {0}x{0} places of {1} channels", plan.samples, plan.channels);
}

template <class Index>
std::string image_fault(const Index* images, const KernelArgs& args, const OperandAt& operand) {
  for (int64_t r = 0; r < args.dims[0]; ++r)
    if (images[r] < 0 || images[r] >= args.dims[1])
      return fmt::format("%{}: region {} lies in image {} but x has {}", operand(2).name, r, images[r], args.dims[1]);
  return "";
}

std::string fault(const RoiAlignPlan& plan, const KernelArgs& args, const OperandAt& operand) {
  constexpr float kMost = 1 << 24;
  const auto* regions = reinterpret_cast<const float*>(args.pointers[1]);
  for (int64_t i = 0; i < 4 * args.dims[0]; ++i)
    if (!(std::abs(regions[i]) <= kMost))
      return fmt::format("%{}: a region has the coordinate {}; accepted: {} to {}", operand(1).name, regions[i], -kMost,
                         kMost);
  const void* images = args.pointers[2];
  return plan.images == DType::i64 ? image_fault(static_cast<const int64_t*>(images), args, operand)
                                   : image_fault(static_cast<const int32_t*>(images), args, operand);
}

bool takes(const OpDef& op) { return is_one_of(op, {"roi_align"}); }

constexpr KernelClass<RoiAlignPlan> roi_align{.name = "roi_align",
                                              .doc = "means of samples between elements, in regions of images",
                                              .takes = takes,
                                              .lower = lower_roi_align,
                                              .supports = supports,
                                              .launch = launch,
                                              .describe = describe,
                                              .trusts = {1, 2},
                                              .fault = fault};

}  // namespace

extern constinit const KernelDef roi_align_kernel_def = kernel_def<roi_align>();
const KernelDef& RoiAlignPlan::kernel() { return roi_align_kernel_def; }

}  // namespace hone
