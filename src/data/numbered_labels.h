// Classes that a file has as numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.h"

namespace hone {

// Class i is classes[i]; numbers that have none are unknown, as is kIgnoredLabel. Without classes they are called "0",
// "1", … up to the largest number that occurs. Throws Error that starts with `source` for other numbers that are below
// 0 or above 65535 then.
ClassLabels numbered_labels(std::span<const int64_t> numbers, std::span<const std::string> classes,
                            const std::string& source);

}  // namespace hone
