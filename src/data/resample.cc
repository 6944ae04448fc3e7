#include "data/resample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "base/memory_limit.h"

namespace hone {
namespace {

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

struct Filter {
  Resampling resampling;
  std::string_view name;
  double support;  // half its width
  double (*weight)(double x);
};

constexpr Filter kFilters[] = {
    {Resampling::lanczos, "lanczos", 3, [](double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0.0; }},
    {Resampling::bilinear, "bilinear", 1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }},
    {Resampling::bicubic, "bicubic", 2,
     [](double x) {
       constexpr double a = -0.5;
       x = std::abs(x);
       if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
       return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
     }},
    {Resampling::box, "box", 0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }},
    {Resampling::hamming, "hamming", 1, [](double x) {
       const double angle = std::numbers::pi * std::abs(x);
       return x == 0 ? 1 : std::abs(x) >= 1 ? 0 : std::sin(angle) / angle * (0.54 + 0.46 * std::cos(angle));
     }}};

const Filter& filter_of(Resampling resampling) { return *std::ranges::find(kFilters, resampling, &Filter::resampling); }

constexpr int kBits = 22;  // a sum of products with bytes fits 32 bits, with two bits for weights beyond 0 and 1

// What a filter makes of `from` values at one of `to` places: where it begins, and weights that sum to about 2^kBits.
struct Taps {
  int64_t begin = 0;
  std::vector<int32_t> weights;
};

std::vector<Taps> taps_of(const Filter& filter, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), wider = std::max(scale, 1.0);
  const double support = filter.support * wider, inverse = 1 / wider;
  std::vector<Taps> all;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto end = std::min<int64_t>(from, static_cast<int64_t>(center + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t at = begin; at < end; ++at)
      sum += weights.emplace_back(filter.weight((static_cast<double>(at) - center + 0.5) * inverse));
    Taps taps{begin, {}};
    for (const double weight : weights) {
      const double share = sum != 0 ? weight / sum : weight;
      taps.weights.push_back(static_cast<int32_t>((share < 0 ? -0.5 : 0.5) + share * (1 << kBits)));
    }
    all.push_back(std::move(taps));
  }
  return all;
}

uint8_t level(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// Sums of values that lie `step` apart.
uint8_t filtered(const Taps& taps, const uint8_t* values, size_t step) {
  int32_t sum = 1 << (kBits - 1);
  const uint8_t* at = values + static_cast<size_t>(taps.begin) * step;
  for (const int32_t weight : taps.weights) sum += *at * weight, at += step;
  return level(sum);
}

Tensor along_rows(const Tensor& image, int64_t width, const Filter& filter) {
  if (image.dim(2) == width) return image;
  const std::vector<Taps> all = taps_of(filter, image.dim(2), width);
  Tensor result(DType::u8, {image.dim(0), image.dim(1), width});
  const auto from = image.as<uint8_t>();
  auto out = result.mutable_as<uint8_t>().begin();
  for (int64_t row = 0; row < image.dim(0) * image.dim(1); ++row)
    for (const Taps& taps : all) *out++ = filtered(taps, &from[static_cast<size_t>(row * image.dim(2))], 1);
  return result;
}

Tensor along_columns(const Tensor& image, int64_t height, const Filter& filter) {
  if (image.dim(1) == height) return image;
  const std::vector<Taps> all = taps_of(filter, image.dim(1), height);
  const auto width = static_cast<size_t>(image.dim(2)), plane = static_cast<size_t>(image.dim(1)) * width;
  Tensor result(DType::u8, {image.dim(0), height, image.dim(2)});
  const auto from = image.as<uint8_t>();
  auto out = result.mutable_as<uint8_t>().begin();
  for (size_t c = 0; c < static_cast<size_t>(image.dim(0)); ++c)
    for (const Taps& taps : all)
      for (size_t x = 0; x < width; ++x) *out++ = filtered(taps, &from[c * plane + x], width);
  return result;
}

}  // namespace

std::string_view name_of(Resampling resampling) { return filter_of(resampling).name; }

std::optional<Resampling> resampling_called(std::string_view name) {
  const auto found = std::ranges::find(kFilters, name, &Filter::name);
  return found == std::end(kFilters) ? std::nullopt : std::optional(found->resampling);
}

std::string resampling_names() {
  std::vector<std::string_view> names;
  for (const Filter& filter : kFilters) names.push_back(filter.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Tensor resize_image(const Tensor& image, int64_t height, int64_t width, Resampling resampling) {
  constexpr int64_t kMostPixels = int64_t{1} << 28;
  for (const auto& [h, w] : {std::pair{height, width}, {image.dim(1), width}})
    if (h < 1 || w < 1 || w > kMostPixels / h)
      fail("an image of {} x {} pixels resized to {} x {}; at least 1 x 1 and at most {} pixels are accepted",
           image.dim(2), image.dim(1), width, height, kMostPixels);
  const MemoryCharge charge(image.dim(0) * width * (height + image.dim(1)), "an image that is resized");
  const Filter& filter = filter_of(resampling);
  return along_columns(along_rows(image, width, filter), height, filter);
}

}  // namespace hone
