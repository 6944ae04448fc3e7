// Means in regions: when the class applies.
#include <cmath>

#include "kernels/roi_align/plan.h"

namespace hone {
namespace {

constexpr int kRegions = place_of<&RoiAlignArgs::regions>, kImages = place_of<&RoiAlignArgs::images_of>;

template <class Index>
std::string image_fault(const Index* images, const RoiAlignArgs& args, const OperandAt& operand) {
  for (int64_t r = 0; r < args.region_count; ++r)
    if (images[r] < 0 || images[r] >= args.images)
      return fmt::format("%{}: region {} lies in image {} but x has {}", operand(kImages).name, r, images[r],
                         args.images);
  return "";
}

std::string fault(const RoiAlignPlan& plan, const KernelArgs& given, const OperandAt& operand) {
  constexpr float kMost = 1 << 24;
  const auto args = from_args<RoiAlignArgs>(given);
  const auto* regions = static_cast<const float*>(args.regions);
  for (int64_t i = 0; i < 4 * args.region_count; ++i)
    if (!(std::abs(regions[i]) <= kMost))
      return fmt::format("%{}: a region has the coordinate {}; accepted: {} to {}", operand(kRegions).name, regions[i],
                         -kMost, kMost);
  return plan.images == DType::i64 ? image_fault(static_cast<const int64_t*>(args.images_of), args, operand)
                                   : image_fault(static_cast<const int32_t*>(args.images_of), args, operand);
}

bool takes(const OpDef& op) { return is_one_of(op, {"roi_align"}); }

constexpr KernelClass<RoiAlignPlan> roi_align{.name = "roi_align",
                                              .doc = "means of samples between elements, in regions of images",
                                              .takes = takes,
                                              .lower = lower_roi_align,
                                              .trusts = {kRegions, kImages},
                                              .fault = fault};

}  // namespace

extern constinit const KernelDef roi_align_kernel_def = kernel_def<roi_align>();
const KernelDef& RoiAlignPlan::kernel() { return roi_align_kernel_def; }

}  // namespace hone
