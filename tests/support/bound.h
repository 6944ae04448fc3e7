// Error bounds as arguments: derived from the operands of the very output that is compared, never round constants.
// graph_bound.h carries them through the nodes of a graph.
#pragma once

#include <cmath>
#include <cstdint>

#include "ir/type.h"

namespace hone::test {

constexpr double kEpsF32 = 0x1p-24, kEpsBf16 = 0x1p-8, kEpsF16 = 0x1p-11, kEpsF64 = 0x1p-53;  // unit roundoff
constexpr double kTinyF32 = 0x1p-126;  // what flushing a subnormal loses at most

// |fl(dot) - dot| <= sum|a_i b_i| (2·eps_in + k·eps_acc): inputs rounded once, k additions. The sum is of this very
// output.
inline double dot_bound(double sum_abs_products, int64_t k, double eps_in, double eps_acc) {
  return sum_abs_products * (2 * eps_in + static_cast<double>(k) * eps_acc);
}

// A sum of k products as matrix kernels form it: each product is added once, each group's sum is scaled and added once
// more; weights are rounded once when a scale is multiplied in; bf16 dot products flush subnormals.
inline double product_sum_bound(double sum_abs_products, int64_t k) {
  return dot_bound(sum_abs_products, 2 * k + 8, kEpsF32, kEpsF32) + 2 * static_cast<double>(k) * kTinyF32;
}

// What rounding a result once adds.
inline double rounded_bound(double value, double bound, double eps) { return bound + (std::abs(value) + bound) * eps; }

// Distance of two values that were `bound` apart before both were rounded. Equal values stay equal.
inline double both_rounded_bound(double value, double bound, double eps) {
  return bound == 0 ? 0 : rounded_bound(value, bound, 2 * eps);
}

inline double unit_roundoff(DType dtype) {
  return dtype == DType::f64 ? kEpsF64 : dtype == DType::bf16 ? kEpsBf16 : dtype == DType::f16 ? kEpsF16 : kEpsF32;
}

}  // namespace hone::test
