#include "data/image_transform.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
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

// What a filter of triangles makes of `from` values at each of `to` places: where it begins, and weights that sum to 1.
struct Taps {
  int64_t begin = 0;
  std::vector<double> weights;
};

std::vector<Taps> triangle_taps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<int64_t>(0, std::llround(center - support));
    const auto end = std::min<int64_t>(from, std::llround(center + support));
    Taps taps{begin, {}};
    double sum = 0;
    for (int64_t at = begin; at < end; ++at) {
      const double distance = std::abs(static_cast<double>(at) + 0.5 - center) / support;
      taps.weights.push_back(std::max(0.0, 1 - distance));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

}  // namespace

void check(const ImageTransform& transform, int64_t channels) {
  constexpr int64_t kMostSide = 1 << 16;
  for (int64_t size : {transform.height, transform.width, transform.crop_padding})
    if (size < 0 || size > kMostSide) fail("images of {} pixels a side; 0 to {} are accepted", size, kMostSide);
  if ((transform.height == 0) != (transform.width == 0))
    fail("images of {} x {} pixels; give both sides, or 0 for both", transform.height, transform.width);
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
    const auto value = [&](uint8_t pixel) { return (static_cast<float>(pixel) / 255.0f - mean) / deviation; };
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const int64_t from_y = y - placement.down, from_x = (placement.mirrored ? width - 1 - x : x) - placement.right;
        const bool is_inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        out[at++] = value(is_inside ? pixels[static_cast<size_t>((c * height + from_y) * width + from_x)] : 0);
      }
  }
}

Tensor resize_image(const Tensor& image, int64_t height, int64_t width) {
  const int64_t channels = image.dim(0), from_height = image.dim(1), from_width = image.dim(2);
  if (from_height == height && from_width == width) return image;
  const std::vector<Taps> rows = triangle_taps(from_height, height), columns = triangle_taps(from_width, width);
  Tensor resized(DType::u8, {channels, height, width});
  const std::span<uint8_t> out = resized.mutable_as<uint8_t>();
  const std::span<const uint8_t> pixels = image.as<uint8_t>();
  std::vector<double> line(static_cast<size_t>(from_width));
  size_t at = 0;
  for (int64_t c = 0; c < channels; ++c)
    for (const Taps& row : rows) {
      std::ranges::fill(line, 0.0);
      for (size_t t = 0; t < row.weights.size(); ++t) {
        const auto* from =
            &pixels[static_cast<size_t>((c * from_height + row.begin + static_cast<int64_t>(t)) * from_width)];
        for (size_t x = 0; x < line.size(); ++x) line[x] += row.weights[t] * from[x];
      }
      for (const Taps& column : columns) {
        double sum = 0;
        for (size_t t = 0; t < column.weights.size(); ++t)
          sum += column.weights[t] * line[static_cast<size_t>(column.begin) + t];
        out[at++] = static_cast<uint8_t>(std::clamp(std::lround(sum), 0l, 255l));
      }
    }
  return resized;
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
