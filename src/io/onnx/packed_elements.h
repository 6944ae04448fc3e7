// Element types of less than a byte. hone has them one a byte; ONNX packs them: one stream of bits, the first element
// in the lowest bits of the first byte, so that two of 4 bits, four of 2 bits, or 4 of 6 bits make whole bytes.
#pragma once

#include <span>
#include <string>

#include "ir/tensor.h"

namespace hone::onnx {

int packed_bits(DType dtype);                         // 2, 4 or 6; 0 for types of whole bytes
int64_t packed_bytes(DType dtype, int64_t elements);  // as stored in raw_data, of any plain dtype but string
Buffer unpacked_elements(DType dtype, std::span<const std::byte> packed, int64_t elements);  // a byte each
std::string packed_elements(DType dtype, std::span<const std::byte> elements);

}  // namespace hone::onnx
