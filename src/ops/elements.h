// How reference evaluations read and write tensors: row-major doubles for arithmetic, bytes for ops that only move
// elements. Packed operands are decoded first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/stop.h"
#include "ir/op_def.h"

namespace hone {

Tensor plain(const Tensor& tensor);                     // decoded when packed, otherwise the same
std::vector<int64_t> sizes_of(const TensorType& type);  // Bug unless constant

// Every element as a T: double for floats, int64_t for integers and booleans, uint64_t for u64.
template <class T>
std::vector<T> elements_as(const Tensor& x) {
  if constexpr (std::is_same_v<T, double>) return x.to_doubles();
  else if constexpr (std::is_same_v<T, int64_t>) return x.to_integers();
  else return {x.as<uint64_t>().begin(), x.as<uint64_t>().end()};
}

// Calls visit(elements) with that T which holds every element of x.
template <class Visit>
auto with_elements(const Tensor& x, Visit&& visit) {
  if (is_float(x.dtype())) return visit(elements_as<double>(x));
  if (x.dtype() == DType::u64) return visit(elements_as<uint64_t>(x));
  return visit(elements_as<int64_t>(x));
}

// The way back: rounded or wrapped to `dtype`.
template <class T>
Tensor from_elements(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& elements) {
  if constexpr (std::is_same_v<T, double>) return Tensor::from_doubles(dtype, std::move(sizes), elements);
  else return Tensor::of<T>(std::move(sizes), elements).converted(dtype);
}

// Arithmetic on what with_elements() gives; integers wrap.
template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return a + b;
}
template <class T>
T wrapping_product(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return a * b;
}

// Elements each step along a dimension skips in a dense row-major tensor.
std::vector<int64_t> strides_of(std::span<const int64_t> sizes);
// The same for an operand that is broadcast to `to`: 0 along dimensions that it lacks or has once.
std::vector<int64_t> strides_broadcast(std::span<const int64_t> from, std::span<const int64_t> to);

// Sum of n products in four interleaved partial sums.
double dot(const double* a, const double* b, int64_t n);
int64_t dot(const int64_t* a, const int64_t* b, int64_t n);  // wraps

// A shape seen as outer x length x inner around one axis; element (o, i, j) lies at (o * length + i) * inner + j.
struct AxisView {
  int64_t outer = 1, length = 1, inner = 1;
};
AxisView around_axis(std::span<const int64_t> sizes, size_t axis);

// Bytes of strings that an op makes, held against the memory limit as they grow: few strings repeated often are many
// bytes.
class TextBytes {
 public:
  void add(size_t bytes);

 private:
  int64_t bytes_ = 0, asked_ = 0;
};

// A tensor put together, in row-major order, from runs of elements of plain tensors of the same dtype: their bytes are
// moved, or their strings.
class ElementWriter {
 public:
  ElementWriter(DType dtype, std::vector<int64_t> shape);
  ElementWriter(const ElementWriter&) = delete;
  ElementWriter& operator=(const ElementWriter&) = delete;

  void append(const Tensor& from, int64_t first, int64_t count = 1);
  Tensor finish();  // Bug unless every element was appended

 private:
  Tensor result_;
  std::vector<std::string> strings_;
  TextBytes text_bytes_;
  std::span<std::byte> room_;
};

// out[index] = src[offset + sum(index * strides)] for every index of `sizes`; a plain tensor of any dtype.
Tensor copy_strided(const Tensor& src, std::vector<int64_t> sizes, std::span<const int64_t> strides,
                    int64_t offset = 0);

// out[i] = src[positions[i]], counted in row-major order; a plain tensor of any dtype.
Tensor take(const Tensor& src, std::vector<int64_t> shape, std::span<const int64_t> positions);

// `index` counted from the front; negative ones count from the end. Error when it lies outside an axis of `length`.
int64_t checked_index(int64_t index, int64_t length);

constexpr uint32_t kVisitsPerStop = 4096;  // between two questions whether to go on

// Calls visit(offset) for every index of `sizes` in row-major order, offset = sum(index * strides).
template <class Visit>
void for_each_offset(std::span<const int64_t> sizes, std::span<const int64_t> strides, Visit&& visit) {
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t offset = 0;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  for (uint32_t visited = 1;; ++visited) {
    if (visited % kVisitsPerStop == 0) check_stop();
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
