#include "measure/cosines.h"

#include <cmath>
#include <numeric>

#include "base/error.h"

namespace hone {

Directions::Directions(std::span<const float> rows, int64_t width) : values_(rows.begin(), rows.end()), width_(width) {
  CHECK(width > 0 && rows.size() % static_cast<size_t>(width) == 0);
  for (size_t at = 0; at < values_.size(); at += static_cast<size_t>(width)) {
    const std::span<float> row(values_.data() + at, static_cast<size_t>(width));
    double squares = 0;
    for (float x : row) squares += static_cast<double>(x) * x;
    const double scale = squares > 0 && std::isfinite(squares) ? 1 / std::sqrt(squares) : 0;
    for (float& x : row) x = scale == 0 ? 0 : static_cast<float>(x * scale);
  }
}

// Sixteen sums, since one after the other would wait for each addition: there are rows² of these.
float Directions::cosine(int64_t row, const Directions& other, int64_t other_row) const {
  CHECK(width_ == other.width_);
  const float *a = values_.data() + row * width_, *b = other.values_.data() + other_row * width_;
  constexpr int64_t kSums = 16;
  float sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= width_; i += kSums)
    for (int64_t j = 0; j < kSums; ++j) sums[j] += a[i + j] * b[i + j];
  for (; i < width_; ++i) sums[i % kSums] += a[i] * b[i];
  return std::accumulate(sums, sums + kSums, 0.0f);
}

}  // namespace hone
