// From the bytes of an image to what a network reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/philox.h"
#include "data/dataset.h"
#include "data/resample.h"
#include "ir/tensor.h"

namespace hone {

struct ImageTransform {
  int64_t height = 0, width = 0;  // that images get; 0: they stay, and must be alike to share a batch
  // What comes before the middle of that size is cut out, with black around an image that is smaller. `none`: nothing;
  // `whole`: images are resized to height x width, or to `first_height` x `first_width` where those are not 0;
  // `shorter`: the shorter side becomes `shorter_side`, and the longer one keeps its proportion.
  enum class Resize : uint8_t { none, whole, shorter } resize = Resize::whole;
  int64_t first_height = 0, first_width = 0, shorter_side = 0;
  Resampling resampling = Resampling::bilinear;
  double scale = 1.0 / 255;            // of a pixel's value, before the mean is subtracted
  std::vector<float> mean, deviation;  // of each channel, of scaled values; none: 0 and 1
  // For training: rows and columns of black around the image, from which a part of its size is cut anywhere; and a
  // mirror image as often as not.
  int64_t crop_padding = 0;
  bool flip = false;

  // The same for images of another size, which then are resized to it alone; itself where the size is the same.
  ImageTransform with_size(int64_t new_height, int64_t new_width) const;
  bool operator==(const ImageTransform&) const = default;
};

// Throws Error for sizes, paddings or numbers of channels that make no sense for images of so many channels.
void check(const ImageTransform& transform, int64_t channels);

// u8[channels, height, width] of the size that the transform gives it, by resizing and cutting out. Throws Error for
// sizes that no image can have.
Tensor sized_image(const Tensor& image, const ImageTransform& transform);

// (value * scale - mean) / deviation of u8[channels, height, width] into `out`, of as many elements. All that is random
// is drawn from `random`.
void transform_image(const Tensor& image, const ImageTransform& transform, Philox random, std::span<float> out);

struct PixelStatistics {
  std::vector<float> mean, deviation;  // of each channel, of values from 0 to 1
};
// Sums are of whole numbers, so the result does not depend on order. Reads every image.
PixelStatistics pixel_statistics(const Dataset& data, std::span<const int64_t> rows);

}  // namespace hone
