#include "passes/compress/cholesky.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "base/threads.h"

namespace hone {
namespace {

// Columns that are finished together: what they take from all columns before them is one product of matrices.
constexpr int64_t kBlock = 64;
constexpr int kRows = 2, kColumns = 4;  // of a tile of that product: 8 sums of 4 lanes in 16 registers

__attribute__((target("avx2,fma"))) double sum_of(__m256d v) {
  double lanes[4];
  _mm256_storeu_pd(lanes, v);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// out[r][c] -= dot(rows r of a, rows c of b) over `length`, a multiple of 4; all three have rows of `stride`.
__attribute__((target("avx2,fma"))) void subtract_tile(const double* a, const double* b, double* out, int64_t stride,
                                                       int64_t length) {
  __m256d sums[kRows][kColumns];
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) sums[0][c] = sums[1][c] = _mm256_setzero_pd();
  for (int64_t t = 0; t < length; t += 4) {
    const __m256d a0 = _mm256_loadu_pd(a + t), a1 = _mm256_loadu_pd(a + stride + t);
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
      const __m256d row = _mm256_loadu_pd(b + c * stride + t);
      sums[0][c] = _mm256_fmadd_pd(a0, row, sums[0][c]);
      sums[1][c] = _mm256_fmadd_pd(a1, row, sums[1][c]);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < kColumns; ++c) {
    out[c] -= sum_of(sums[0][c]);
    out[stride + c] -= sum_of(sums[1][c]);
  }
}

// One element of such a tile, added up in the same order.
__attribute__((target("avx2,fma"))) double dot(const double* a, const double* b, int64_t length) {
  __m256d sum = _mm256_setzero_pd();
  int64_t t = 0;
  for (; t + 4 <= length; t += 4) sum = _mm256_fmadd_pd(_mm256_loadu_pd(a + t), _mm256_loadu_pd(b + t), sum);
  double rest = 0;
  for (; t < length; ++t) rest += a[t] * b[t];
  return sum_of(sum) + rest;
}

// Rows [first, last), columns [begin, end): minus what the columns before `begin` contribute.
void subtract_earlier(double* a, int64_t n, int64_t first, int64_t last, int64_t begin, int64_t end) {
  for (int64_t i = first; i < last; i += kRows)
    for (int64_t j = begin; j < end; j += kColumns) {
      if (i + kRows <= last && j + kColumns <= end) {
        subtract_tile(a + i * n, a + j * n, a + i * n + j, n, begin);
        continue;
      }
      for (int64_t r = i; r < std::min<int64_t>(i + kRows, last); ++r)
        for (int64_t c = j; c < std::min<int64_t>(j + kColumns, end); ++c)
          a[r * n + c] -= dot(a + r * n, a + c * n, begin);
    }
}

bool factor_diagonal(double* a, int64_t n, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) {
    const double square = a[j * n + j] - dot(a + j * n + begin, a + j * n + begin, j - begin);
    if (!(square > 0) || !std::isfinite(square)) return false;
    const double root = a[j * n + j] = std::sqrt(square);
    for (int64_t i = j + 1; i < end; ++i)
      a[i * n + j] = (a[i * n + j] - dot(a + i * n + begin, a + j * n + begin, j - begin)) / root;
  }
  return true;
}

void solve_row(double* a, int64_t n, int64_t i, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j)
    a[i * n + j] = (a[i * n + j] - dot(a + i * n + begin, a + j * n + begin, j - begin)) / a[j * n + j];
}

}  // namespace

bool cholesky(std::span<double> matrix, int64_t n) {
  double* a = matrix.data();
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    auto subtract = [&](int64_t first, int64_t last, int) {
      subtract_earlier(a, n, first + begin, last + begin, begin, end);
    };
    parallel_chunks(n - begin, kBlock, hardware_threads(), subtract);
    if (!factor_diagonal(a, n, begin, end)) return false;
    parallel_for(
        n - end, [&](int64_t i) { solve_row(a, n, end + i, begin, end); }, 16);
  }
  return true;
}

}  // namespace hone
