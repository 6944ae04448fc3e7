// Means of samples in the bins of regions of images.
#pragma once

#include <cstdint>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// out[r, i, j, :] = the mean of `samples` x `samples` places in bin i, j of region r of x [images, height, width,
// channels], each between four elements; one outside of the image is 0 (ops/roi_pool.cc).
// Items are regions.
struct RoiAlignPlan {
  int64_t channels = 1, samples = 1;
  double scale = 1;         // elements of x per unit of the regions
  bool half_pixel = false;  // regions are those of edges; else they are at least 1 wide
  DType images = DType::i64;
  static constexpr auto fields() {
    using P = RoiAlignPlan;
    return std::tuple(field("channels", &P::channels), field("samples", &P::samples), field("scale", &P::scale),
                      field("half_pixel", &P::half_pixel), field("images", &P::images));
  }
  static const KernelDef& kernel();
};

struct RoiAlignArgs {
  void *x = nullptr, *regions = nullptr;      // regions [r, 4] f32 (x1, y1, x2, y2)
  void *images_of = nullptr, *out = nullptr;  // the image of each region
  int64_t region_count = 0, images = 0, height = 0, width = 0;
  int64_t bins_down = 0, bins_across = 0;
  static constexpr auto places() {
    using A = RoiAlignArgs;
    return std::tuple(&A::x, &A::regions, &A::images_of, &A::out, &A::region_count, &A::images, &A::height, &A::width,
                      &A::bins_down, &A::bins_across);
  }
};

Support lower_roi_align(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
