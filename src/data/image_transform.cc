#include "data/image_transform.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/stop.h"

namespace hone {
namespace {

struct Placement {
  int64_t down = 0, right = 0;  // of the image's corner in what is cut out, may be negative
  bool mirrored = false;
};

Placement place(const ImageTransform& transform, Philox& random) {
  Placement placement;
  if (transform.crop_padding > 0) {
    const auto places = static_cast<uint32_t>(2 * transform.crop_padding + 1);
    placement.down = static_cast<int64_t>(random.below(places)) - transform.crop_padding;
    placement.right = static_cast<int64_t>(random.below(places)) - transform.crop_padding;
  }
  if (transform.flip) placement.mirrored = random.below(2) == 1;
  return placement;
}

// The middle of height x width, black where it reaches beyond the image. Where that is not even, one line more is cut
// off, or added, below and on the right.
Tensor middle_of(const Tensor& image, int64_t height, int64_t width) {
  const int64_t from_height = image.dim(1), from_width = image.dim(2);
  if (from_height == height && from_width == width) return image;
  const auto before = [](int64_t from, int64_t to) { return from >= to ? (from - to) / 2 : -((to - from) / 2); };
  const int64_t top = before(from_height, height), left = before(from_width, width);
  const MemoryCharge charge(checked_mul(checked_mul(image.dim(0), height), width), "an image that is cut out");
  Tensor result(DType::u8, {image.dim(0), height, width});
  const auto pixels = image.as<uint8_t>();
  const auto out = result.mutable_as<uint8_t>();
  const int64_t begin = std::max<int64_t>(0, -left), end = std::min(width, from_width - left);
  for (int64_t c = 0; c < image.dim(0); ++c)
    for (int64_t y = std::max<int64_t>(0, -top); y < std::min(height, from_height - top); ++y)
      std::copy_n(&pixels[static_cast<size_t>((c * from_height + y + top) * from_width + begin + left)], end - begin,
                  &out[static_cast<size_t>((c * height + y) * width + begin)]);
  return result;
}

Tensor resized(const Tensor& image, const ImageTransform& t) {
  const int64_t height = image.dim(1), width = image.dim(2);
  switch (t.resize) {
    case ImageTransform::Resize::none:
      return image;
    case ImageTransform::Resize::whole:
      if (t.first_height > 0) return resize_image(image, t.first_height, t.first_width, t.resampling);
      return t.height > 0 ? resize_image(image, t.height, t.width, t.resampling) : image;
    case ImageTransform::Resize::shorter: {
      const int64_t shorter = std::min(height, width), longer = std::max(height, width);
      const int64_t other = checked_mul(t.shorter_side, longer) / shorter;
      return width <= height ? resize_image(image, other, t.shorter_side, t.resampling)
                             : resize_image(image, t.shorter_side, other, t.resampling);
    }
  }
  return image;
}

}  // namespace

void check(const ImageTransform& transform, int64_t channels) {
  constexpr int64_t kMostSide = 1 << 16;
  for (int64_t size : {transform.height, transform.width, transform.crop_padding, transform.first_height,
                       transform.first_width, transform.shorter_side})
    if (size < 0 || size > kMostSide) fail("images of {} pixels a side; 0 to {} are accepted", size, kMostSide);
  if ((transform.height == 0) != (transform.width == 0))
    fail("images of {} x {} pixels; give both sides, or 0 for both", transform.height, transform.width);
  if (transform.resize == ImageTransform::Resize::shorter && transform.shorter_side == 0)
    fail("images whose shorter side becomes 0 pixels");
  if (!(transform.scale > 0)) fail("pixels are scaled by {}; a number above 0 is needed", transform.scale);
  for (const auto* values : {&transform.mean, &transform.deviation})
    if (!values->empty() && std::ssize(*values) != channels)
      fail("{} means or deviations for {} channels", values->size(), channels);
  for (float deviation : transform.deviation)
    if (!(deviation > 0)) fail("a deviation of {}; numbers above 0 are needed", deviation);
}

void transform_image(const Tensor& image, const ImageTransform& transform, Philox random, std::span<float> out) {
  const int64_t channels = image.dim(0), height = image.dim(1), width = image.dim(2);
  CHECK(std::ssize(out) == channels * height * width);
  const Placement placement = place(transform, random);
  const std::span<const uint8_t> pixels = image.as<uint8_t>();
  size_t at = 0;
  for (int64_t c = 0; c < channels; ++c) {
    const float mean = transform.mean.empty() ? 0 : transform.mean[static_cast<size_t>(c)];
    const float deviation = transform.deviation.empty() ? 1 : transform.deviation[static_cast<size_t>(c)];
    const auto value = [&](uint8_t pixel) { return (static_cast<float>(pixel * transform.scale) - mean) / deviation; };
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const int64_t from_y = y - placement.down, from_x = (placement.mirrored ? width - 1 - x : x) - placement.right;
        const bool is_inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        out[at++] = value(is_inside ? pixels[static_cast<size_t>((c * height + from_y) * width + from_x)] : 0);
      }
  }
}

ImageTransform ImageTransform::with_size(int64_t new_height, int64_t new_width) const {
  if (height == new_height && width == new_width) return *this;
  ImageTransform other = *this;
  other.height = new_height, other.width = new_width;
  other.resize = Resize::whole;
  other.first_height = other.first_width = other.shorter_side = 0;
  return other;
}

Tensor sized_image(const Tensor& image, const ImageTransform& transform) {
  const Tensor whole = resized(image, transform);
  return transform.height > 0 ? middle_of(whole, transform.height, transform.width) : whole;
}

PixelStatistics pixel_statistics(const Dataset& data, std::span<const int64_t> rows) {
  if (!data.images) fail("{}: has no images", data.path);
  if (rows.empty()) fail("{}: no images to take the mean of", data.path);
  const auto channels = static_cast<size_t>(data.images.channels);
  std::vector<uint64_t> sums(channels), squares(channels);
  uint64_t count = 0;
  for (int64_t row : rows) {
    check_stop();
    const Tensor image = data.images.read(row);
    const std::span<const uint8_t> pixels = image.as<uint8_t>();
    const size_t area = pixels.size() / channels;
    count += area;
    for (size_t i = 0; i < pixels.size(); ++i) {
      sums[i / area] += pixels[i];
      squares[i / area] += uint64_t{pixels[i]} * pixels[i];
    }
  }
  PixelStatistics statistics;
  for (size_t c = 0; c < channels; ++c) {
    const double n = static_cast<double>(count), mean = static_cast<double>(sums[c]) / n;
    const double variance = static_cast<double>(squares[c]) / n - mean * mean;
    statistics.mean.push_back(static_cast<float>(mean / 255));
    statistics.deviation.push_back(static_cast<float>(std::sqrt(std::max(variance, 0.0)) / 255));
  }
  return statistics;
}

}  // namespace hone
