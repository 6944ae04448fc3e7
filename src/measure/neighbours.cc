#include "measure/neighbours.h"

#include <algorithm>

#include "base/error.h"
#include "measure/cosines.h"

namespace hone {

std::vector<std::vector<int64_t>> nearest_rows(std::span<const float> rows, int64_t width, int64_t k) {
  const Directions directions(rows, width);
  CHECK(k >= 1 && k < directions.rows());
  std::vector<std::vector<int64_t>> nearest;
  std::vector<std::pair<float, int64_t>> others;  // of less cosine, so that the first of equals sorts first
  for (int64_t i = 0; i < directions.rows(); ++i) {
    others.clear();
    for (int64_t j = 0; j < directions.rows(); ++j)
      if (j != i) others.emplace_back(-directions.cosine(i, directions, j), j);
    std::partial_sort(others.begin(), others.begin() + k, others.end());
    nearest.emplace_back();
    for (int64_t n = 0; n < k; ++n) nearest.back().push_back(others[static_cast<size_t>(n)].second);
  }
  return nearest;
}

std::vector<double> shared_neighbours(std::span<const float> reference, std::span<const float> result, int64_t width,
                                      int64_t k) {
  if (reference.size() != result.size())
    fail("embeddings of {} and {} elements have no neighbours in common", reference.size(), result.size());
  const std::vector<std::vector<int64_t>> a = nearest_rows(reference, width, k), b = nearest_rows(result, width, k);
  std::vector<double> shares;
  for (size_t row = 0; row < a.size(); ++row) {
    int64_t both = 0;
    for (int64_t n : a[row]) both += std::ranges::count(b[row], n);
    shares.push_back(static_cast<double>(both) / static_cast<double>(k));
  }
  return shares;
}

}  // namespace hone
