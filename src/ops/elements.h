// How reference evaluations read and write tensors: row-major doubles for arithmetic, bytes for ops that only move
// elements. Packed operands are decoded first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace hone {

Tensor plain(const Tensor& tensor);                     // decoded when packed, otherwise the same
std::vector<int64_t> sizes_of(const TensorType& type);  // Bug unless constant

// Elements each step along a dimension skips in a dense row-major tensor.
std::vector<int64_t> strides_of(std::span<const int64_t> sizes);
// The same for an operand that is broadcast to `to`: 0 along dimensions that it lacks or has once.
std::vector<int64_t> strides_broadcast(std::span<const int64_t> from, std::span<const int64_t> to);

// Sum of n products in four interleaved partial sums.
double dot(const double* a, const double* b, int64_t n);

// A shape seen as outer x length x inner around one axis; element (o, i, j) lies at (o * length + i) * inner + j.
struct AxisView {
  int64_t outer = 1, length = 1, inner = 1;
};
AxisView around_axis(std::span<const int64_t> sizes, size_t axis);

// out[index] = src[offset + sum(index * strides)] for every index of `sizes`; a plain tensor of any dtype but string.
Tensor copy_strided(const Tensor& src, std::vector<int64_t> sizes, std::span<const int64_t> strides,
                    int64_t offset = 0);

// Calls visit(offset) for every index of `sizes` in row-major order, offset = sum(index * strides).
template <class Visit>
void for_each_offset(std::span<const int64_t> sizes, std::span<const int64_t> strides, Visit&& visit) {
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t offset = 0;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  while (true) {
    visit(offset);
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) {
      offset -= (sizes[axis - 1] - 1) * strides[axis - 1];
      index[--axis] = 0;
    }
    if (axis == 0) return;
    offset += strides[axis - 1];
  }
}

}  // namespace hone
