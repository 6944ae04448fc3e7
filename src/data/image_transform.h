// From the bytes of an image to what a network reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/philox.h"
#include "data/dataset.h"
#include "ir/tensor.h"

namespace hone {

struct ImageTransform {
  int64_t height = 0, width = 0;       // images are resized to that; 0: they stay, and must be alike to share a batch
  std::vector<float> mean, deviation;  // of each channel, of values from 0 to 1; none: 0 and 1
  // For training: rows and columns of black around the image, from which a part of its size is cut anywhere; and a
  // mirror image as often as not.
  int64_t crop_padding = 0;
  bool flip = false;
};

// Throws Error for sizes, paddings or numbers of channels that make no sense for images of so many channels.
void check(const ImageTransform& transform, int64_t channels);

// (value / 255 - mean) / deviation of u8[channels, height, width] into `out`, of as many elements. All that is random
// is drawn from `random`.
void transform_image(const Tensor& image, const ImageTransform& transform, Philox random, std::span<float> out);

// u8[channels, height, width] of another size: the mean of what a pixel covers where it becomes smaller, linear between
// pixels where it becomes larger (the triangle filter, as Pillow's BILINEAR but with one rounding at the end).
Tensor resize_image(const Tensor& image, int64_t height, int64_t width);

struct PixelStatistics {
  std::vector<float> mean, deviation;  // of each channel, of values from 0 to 1
};
// Sums are of whole numbers, so the result does not depend on order. Reads every image.
PixelStatistics pixel_statistics(const Dataset& data, std::span<const int64_t> rows);

}  // namespace hone
