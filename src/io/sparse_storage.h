// How a file stores a tensor of which many elements are alike: a bit for each element, and those that differ. Nothing
// is lost: the bits of every element come back. What a kernel reads is the whole tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/tensor.h"

namespace hone {

// Bit i of the stream `bitmap` (bit 0 is the lowest of byte 0) is 1 where element i is in `values`, which has those in
// order, and 0 where it is `fill`: of plain tensors the number whose bits are all 0, of packed ones a code.
struct SparseTensor {
  Buffer bitmap, values;  // values of a packed tensor: its codes, as one stream of bits (formats/bits.h)
  uint32_t fill = 0;
};

// None where that is not smaller, or the tensor is of a kind that is stored whole: strings, elements without a float's
// meaning, formats of several planes of codes.
std::optional<SparseTensor> sparse_form(const Tensor& tensor);

// Bytes that the tensor takes in a file that stores it so where that is smaller.
int64_t sparse_bytes(const Tensor& tensor);

// The elements of a plain tensor of `elements` in `element_bytes` each, or the plane of codes of a packed one. Throws
// Error where bitmap, values and sizes do not fit each other, and where there is no memory for all of them.
Buffer whole_elements(const SparseTensor& sparse, int64_t elements, int64_t element_bytes);
Buffer whole_codes(const SparseTensor& sparse, const Format& format, std::span<const int64_t> shape);

}  // namespace hone
