// Quantization by scale and zero point as ONNX spells it: for the tensor, along an axis, or for blocks along an axis.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone {

// A scale, or a zero point (kNone: 0), that belongs to x. One of rank 1 lies along `axis`, unless it has one element;
// with a block size, it has a place for each block of that many along `axis`.
struct AffineCodes {
  ValueId x, scale, zero = kNone;
  int64_t axis = 1, block_size = 0;
};

// (x - zero) * scale in `dtype`; x holds codes.
ValueId dequantized(const OnnxNode& n, const AffineCodes& codes, DType dtype);
// round(x / scale) + zero as `dtype`, saturated unless `saturate` is false. The quotient is rounded to scale's type.
ValueId quantized(const OnnxNode& n, const AffineCodes& codes, DType dtype, bool saturate = true);

// As DynamicQuantizeLinear: u8, with the least scale that covers x and 0.
AffineCodes quantized_dynamically(const OnnxNode& n, ValueId x);

}  // namespace hone
