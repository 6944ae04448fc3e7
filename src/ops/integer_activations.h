// Which formats of activations are multiplied as integers (docs/FORMATS.md, section 11).
#pragma once

#include <string>

#include "formats/format.h"

namespace hone {

// Taps of a depthwise window whose sums of codes are exact in f32, as kernels make them, wherever it lies and whatever
// the zero point is: 2 * 255 * 128 * 256 is below 2^24.
inline constexpr int64_t kMostTapsOfCodes = 256;

std::string no_integer_activations(const Format& format);  // why it is none of them; empty where it is

}  // namespace hone
