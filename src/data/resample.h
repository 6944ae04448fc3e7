// Images of another size, as Pillow computes them: the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace hone {

// Filters, and the numbers that Pillow and preprocessor_config.json give them.
enum class Resampling : uint8_t { lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

std::string_view name_of(Resampling resampling);
std::optional<Resampling> resampling_called(std::string_view name);
std::string resampling_names();  // for messages

// u8[channels, height, width] of another size. Where an axis shrinks, the filter is as much wider as the axis becomes
// shorter, so that each pixel weighs. First along rows, then along columns; either pass rounds to whole levels. Weights
// are multiples of 2^-22. torchvision's resize of bytes, which processors of Hugging Face use, too, lies within one
// level of it. Sizes are held against the memory limit. Throws Error for sizes below 1 or of more than 2^28 pixels.
Tensor resize_image(const Tensor& image, int64_t height, int64_t width, Resampling resampling = Resampling::bilinear);

}  // namespace hone
