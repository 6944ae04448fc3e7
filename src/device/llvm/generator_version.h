// Which generators made a kernel: cached code of other ones is not used.
#pragma once

#include <string_view>

namespace hone {

// A hash of the sources of kernels, devices, formats and expressions, computed by the build
// (cmake/generator_version.cmake).
std::string_view generator_version();

}  // namespace hone
