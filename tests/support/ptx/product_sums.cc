#include "tests/support/ptx/product_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/ptx/numbers.h"

namespace hone::ptx {
namespace {

constexpr int kTogether = 8;      // products that meet in one addition
constexpr int kKept = 24 + 2;     // bits of the largest of them, and two below f32's last
constexpr int kLeast = -149 - 2;  // f32 has nothing below

// Terms cut off below the last kept bit of the largest, added, and cut to f32.
double truncated_sum(const std::array<double, kTogether + 1>& terms, int n) {
  double largest = 0, plain = 0;
  for (int i = 0; i < n; ++i) {
    largest = std::max(largest, std::fabs(terms[static_cast<size_t>(i)]));
    plain += terms[static_cast<size_t>(i)];
  }
  if (!std::isfinite(plain) || largest == 0) return plain;
  const int unit = std::max(std::ilogb(largest) - (kKept - 1), kLeast);
  int64_t sum = 0;  // each below 2^26
  for (int i = 0; i < n; ++i) sum += static_cast<int64_t>(std::ldexp(terms[static_cast<size_t>(i)], -unit));
  return rounded<float>(std::ldexp(static_cast<double>(sum), unit), Rounding::zero);
}

// Eight columns at once, in vectors that every machine has.
template <class T>
void add_rows(SumRow<T>& sums, const T* a, const T* b, int k) {
  typedef T Part __attribute__((vector_size(16)));
  constexpr size_t kParts = 8 * sizeof(T) / sizeof(Part);
  Part sum[kParts];
  std::memcpy(sum, sums.data(), sizeof sum);
  for (int i = 0; i < k; ++i) {
    const T factor = a[i];
#pragma GCC unroll 4
    for (size_t part = 0; part < kParts; ++part) {
      Part row;
      std::memcpy(&row, b + static_cast<size_t>(i) * 8 + part * (sizeof(Part) / sizeof(T)), sizeof row);
      sum[part] += factor * row;
    }
  }
  std::memcpy(sums.data(), sum, sizeof sum);
}

}  // namespace

void add_exact(SumRow<float>& sums, const float* a, const float* b, int k) { add_rows(sums, a, b, k); }

void add_products(SumRow<double>& sums, const double* a, const double* b, int k, Sums how) {
  if (how == Sums::once) return add_rows(sums, a, b, k);
  for (int from = 0; from < k; from += kTogether)
    for (size_t n = 0; n < sums.size(); ++n) {
      std::array<double, kTogether + 1> terms{sums[n]};
      const int count = std::min(kTogether, k - from);
      for (int i = 0; i < count; ++i)
        terms[static_cast<size_t>(i) + 1] = a[from + i] * b[static_cast<size_t>(from + i) * sums.size() + n];
      sums[n] = truncated_sum(terms, count + 1);
    }
}

}  // namespace hone::ptx
