// How tensor cores add up products.
#pragma once

#include <array>

#include "tests/support/ptx/machine.h"

namespace hone::ptx {

template <class T>
using SumRow = std::array<T, 8>;

// sums[n] += a[0 … k-1] · b[0 … k-1][n], where T holds all of that.
void add_exact(SumRow<float>& sums, const float* a, const float* b, int k);

// The same as `how` says (Sums). Products of types up to tf32 are exact in f64. What `once` leaves is to be rounded to
// the sum's type; what `truncated` leaves is an f32.
void add_products(SumRow<double>& sums, const double* a, const double* b, int k, Sums how);

}  // namespace hone::ptx
