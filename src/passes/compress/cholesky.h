// The Cholesky factor of a symmetric matrix, for matrices of some thousand rows.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

// a = L Lᵀ: replaces the lower triangle of a (row-major, n x n) by L and leaves the rest. On all threads; the result
// does not depend on their number. False when a is not positive definite in double precision.
bool cholesky(std::span<double> a, int64_t n);

}  // namespace hone
