#include "io/image.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "io/pixels.h"

namespace hone {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;  // 16384 x 16384, 0.8 GB of colours

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

// Weights of red, green and blue in 65536ths.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

Tensor planes_of(const Pixels& pixels, int64_t channels) {
  Tensor image(DType::u8, {channels, pixels.height, pixels.width});
  const auto out = image.mutable_as<uint8_t>();
  const size_t area = static_cast<size_t>(pixels.height * pixels.width);
  const auto step = static_cast<size_t>(pixels.channels);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
    for (size_t i = 0; i < area; ++i) {
      const uint8_t* pixel = pixels.bytes.data() + i * step;
      out[c * area + i] = step == 1 ? *pixel : channels == 1 ? luma(pixel) : pixel[c];
    }
  return image;
}

}  // namespace

MemoryCharge require_pixels(int64_t width, int64_t height, const std::string& source) {
  if (width < 1 || height < 1 || width > kMostPixels / height)
    fail("{}: an image of {} x {} pixels; at least 1 x 1 and at most {} pixels are read", source, width, height,
         kMostPixels);
  constexpr int64_t kCopies = 2, kBytesPerPixel = 4;  // as decoded and as a tensor; CMYK has the most
  return MemoryCharge(kCopies * kBytesPerPixel * width * height, fmt::format("{}: an image", source));
}

Tensor decode_image(std::span<const std::byte> bytes, int64_t channels, const std::string& source) {
  if (channels != 1 && channels != 3) fail("images of {} channels; accepted: 1 (grey) or 3 (colour)", channels);
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) return planes_of(decode_png(bytes, source), channels);
  if (begins_with(bytes, "\xff\xd8\xff")) return planes_of(decode_jpeg(bytes, source), channels);
  fail("{}: {}; PNG and JPEG are read", source,
       bytes.empty() ? "is empty" : fmt::format("begins like no image that is known (byte 0x{:02x})", bytes[0]));
}

Tensor read_image(const std::string& path, int64_t channels) {
  const MappedFile file(path);
  return decode_image(file.bytes(), channels, path);
}

bool has_image_ending(const std::string& path) {
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.ends_with(".png") || lower.ends_with(".jpg") || lower.ends_with(".jpeg");
}

}  // namespace hone
