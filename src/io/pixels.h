// What decoders of images share: pixels as they come out of one, and as a tensor has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/memory_limit.h"
#include "ir/tensor.h"

namespace hone {

struct Pixels {
  int64_t height = 0, width = 0, channels = 0;  // 1: grey, 3: red, green, blue
  std::vector<uint8_t> bytes;                   // height x width x channels
};

// Held until the pixels are a tensor. Throws Error for a size that no picture has.
MemoryCharge require_pixels(int64_t width, int64_t height, const std::string& source);

Pixels decode_png(std::span<const std::byte> bytes, const std::string& source);
Pixels decode_jpeg(std::span<const std::byte> bytes, const std::string& source);

}  // namespace hone
