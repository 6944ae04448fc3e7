// Means of samples in the bins of regions of images.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace hone {

// out[r, i, j, :] = the mean of `samples` x `samples` places in bin i, j of region r of x [images, height, width,
// channels], each between four elements; one outside of the image is 0 (ops/roi_pool.cc).
//   pointers  [0] x, [1] regions [r, 4] f32 (x1, y1, x2, y2), [2] the image of each, [3] out
//   dims      [0] regions, [1] images, [2] height, [3] width, bins [4] down and [5] across
//   items     regions
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

Support lower_roi_align(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
