// The types of four bits: in ONNX two elements a byte, the first in the low bits; in a Tensor one a byte.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace hone::onnx {

bool is_nibble(DType dtype);
Buffer unpacked_nibbles(DType dtype, std::span<const std::byte> pairs, int64_t elements);  // integers are sign-extended
std::string packed_nibbles(std::span<const std::byte> elements);

}  // namespace hone::onnx
