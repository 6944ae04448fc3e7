// PNG and JPEG files as tensors. What the picture is stored as (palette, 1 to 16 bits, CMYK, interlaced, progressive)
// is gone afterwards; transparency and the orientation that EXIF states are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace hone {

// u8[channels, height, width]. channels is 1 or 3: a grey picture is repeated, a coloured one becomes its luma (ITU-R
// BT.601, rounded as Pillow does). Sizes are held against the memory limit before anything is allocated. Throws Error
// that starts with `source`: neither PNG nor JPEG, damaged, cut short, or more than 2^28 pixels.
Tensor decode_image(std::span<const std::byte> bytes, int64_t channels, const std::string& source);
Tensor read_image(const std::string& path, int64_t channels);

bool has_image_ending(const std::string& path);  // .png, .jpg or .jpeg, in either case

}  // namespace hone
