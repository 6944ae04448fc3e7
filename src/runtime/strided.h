// Memory of callers whose elements lie apart: a slice of a larger array, a transposed one, every other column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace hone {

// How the elements of a tensor lie in memory: element [i, j, …] is `offset` + i * strides[0] + j * strides[1] + …
// elements from the first byte. Strides may be 0 or negative.
struct Strides {
  std::vector<int64_t> strides;
  int64_t offset = 0;

  static Strides dense(std::span<const int64_t> shape);
  bool operator==(const Strides& other) const = default;
};

// Throws Error, which begins with `what`, unless there is a stride for each dimension and every element lies in
// `bytes`.
void check_strides(const std::string& what, DType dtype, std::span<const int64_t> shape, const Strides& strides,
                   size_t bytes);

// The elements at `bytes` as an input of runs: dense ones where they are (the memory must outlive the tensor and its
// copies), others as a copy. Throws Error as check_strides() does.
Tensor tensor_view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes);
Tensor tensor_view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes, const Strides& strides);

// Elements of one size from one place to another; runs of them that lie together in both move as one.
void copy_elements(std::span<const int64_t> shape, int64_t element_bytes, const std::byte* from,
                   const Strides& from_strides, std::byte* to, const Strides& to_strides);

}  // namespace hone
