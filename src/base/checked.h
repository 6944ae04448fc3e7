// Arithmetic of sizes that foreign bytes influence: element counts, offsets, axes, strides. A result that no int64_t
// holds is an Error of the input, never a wrapped number. Whoever adds, multiplies, allocates or indexes by such a
// number does so through these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/error.h"

namespace hone {

inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    fail("the size {} + {} overflows", a, b);
  return sum;
}

inline int64_t checked_sub(int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) [[unlikely]]
    fail("the size {} - {} overflows", a, b);
  return difference;
}

inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    fail("the size {} * {} overflows", a, b);
  return product;
}

// Of sizes, none negative: zero when one of them is, whatever the others are.
inline int64_t checked_product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 0) [[unlikely]]
      fail("the size {} is negative", size);
    if (size == 0) return 0;
  }
  for (int64_t size : sizes) product = checked_mul(product, size);
  return product;
}

// Toward minus infinity.
inline int64_t checked_floor_div(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    fail("{} is divided by zero", a);
  if (b == -1) return checked_sub(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// `value`, or an Error that names `what` when it lies outside [least, most].
inline int64_t checked_range(int64_t value, int64_t least, int64_t most, std::string_view what) {
  if (value < least || value > most) [[unlikely]]
    fail("{} is {}; accepted: {} to {}", what, value, least, most);
  return value;
}

// An axis of `rank` dimensions counted from either end, from the front: 0 .. rank-1.
inline size_t checked_axis(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) [[unlikely]]
    fail("axis {} does not exist in {} dimensions; accepted: {} to {}", axis, rank, -n, n - 1);
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace hone
