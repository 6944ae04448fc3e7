// Means in regions: when the class applies.
#include <cmath>

#include "kernels/roi_align/plan.h"

namespace hone {
namespace {

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
                                              .trusts = {1, 2},
                                              .fault = fault};

}  // namespace

extern constinit const KernelDef roi_align_kernel_def = kernel_def<roi_align>();
const KernelDef& RoiAlignPlan::kernel() { return roi_align_kernel_def; }

}  // namespace hone
