// The size of a safetensors file without writing it.
#pragma once

#include <cstdint>

#include "io/safetensors.h"

namespace hone {

// Of the file that write_safetensors makes of these; the same errors.
int64_t safetensors_bytes(std::span<const NamedTensor> tensors, const std::map<std::string, std::string>& metadata);

}  // namespace hone
