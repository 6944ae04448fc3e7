// Error bounds as arguments: derived from the operands of the very output that is compared, never round constants.
#pragma once

#include <cmath>
#include <cstdint>

namespace hone::test {

constexpr double kEpsF32 = 0x1p-24, kEpsBf16 = 0x1p-8, kEpsF16 = 0x1p-11;  // unit roundoff
constexpr double kTinyF32 = 0x1p-126;                                      // what flushing a subnormal loses at most

// |fl(dot) - dot| <= sum|a_i b_i| (2·eps_in + k·eps_acc): inputs rounded once, k additions. The sum is of this very
// output.
inline double dot_bound(double sum_abs_products, int64_t k, double eps_in, double eps_acc) {
  return sum_abs_products * (2 * eps_in + static_cast<double>(k) * eps_acc);
}

// What rounding a result once adds.
inline double rounded_bound(double value, double bound, double eps) { return bound + (std::abs(value) + bound) * eps; }

}  // namespace hone::test
