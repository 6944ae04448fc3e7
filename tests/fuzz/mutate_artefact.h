// Changes to a file that hone wrote which keep it a safetensors file: words of the graph's text, numbers in it, shapes,
// formats and types of tensors, names.
#pragma once

#include <string>
#include <string_view>

#include "base/philox.h"

namespace hone::fuzz {

// Returns `file` unchanged when it has no header to change.
std::string mutated_artefact(std::string_view file, Philox& random);

}  // namespace hone::fuzz
