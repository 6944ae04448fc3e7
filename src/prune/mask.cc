#include "prune/mask.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace hone {
namespace {

// The `count` lowest of `order`, indices into scores, come first.
template <class Index>
void lowest_first(std::span<const float> scores, std::vector<Index>& order, int64_t count) {
  const auto less = [&](Index a, Index b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x < y || (x == y && a < b);
  };
  if (count > 0 && count < static_cast<int64_t>(order.size()))
    std::nth_element(order.begin(), order.begin() + count, order.end(), less);
}

int64_t count_of(double sparsity, int64_t elements) {
  return static_cast<int64_t>(std::llround(sparsity * static_cast<double>(elements)));
}

void drop(std::span<const float> scores, int64_t begin, int64_t elements, int64_t count, Mask& mask) {
  std::vector<int64_t> order(static_cast<size_t>(elements));
  std::iota(order.begin(), order.end(), begin);
  lowest_first(scores, order, count);
  for (int64_t i = 0; i < count; ++i) mask[static_cast<size_t>(order[static_cast<size_t>(i)])] = 0;
}

}  // namespace

Mask keep_best(std::span<const float> scores, int64_t rows, int64_t columns, const Selection& selection) {
  CHECK(static_cast<int64_t>(scores.size()) == rows * columns);
  Mask mask(scores.size(), 1);
  if (selection.of > 0) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c + selection.of <= columns; c += selection.of)
        drop(scores, row * columns + c, selection.of, selection.of - selection.keep, mask);
  } else if (selection.by_row) {
    for (int64_t row = 0; row < rows; ++row)
      drop(scores, row * columns, columns, count_of(selection.sparsity, columns), mask);
  } else {
    drop(scores, 0, rows * columns, count_of(selection.sparsity, rows * columns), mask);
  }
  return mask;
}

std::vector<double> shares_of_all(std::span<const std::vector<float>> scores, double sparsity) {
  std::vector<float> all;
  std::vector<size_t> layer_of;
  for (size_t l = 0; l < scores.size(); ++l) {
    all.insert(all.end(), scores[l].begin(), scores[l].end());
    layer_of.insert(layer_of.end(), scores[l].size(), l);
  }
  std::vector<int64_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t count = count_of(sparsity, static_cast<int64_t>(all.size()));
  lowest_first(all, order, count);
  std::vector<double> gone(scores.size());
  for (int64_t i = 0; i < count; ++i) ++gone[layer_of[static_cast<size_t>(order[static_cast<size_t>(i)])]];
  for (size_t l = 0; l < scores.size(); ++l) gone[l] /= std::max<double>(1, static_cast<double>(scores[l].size()));
  return gone;
}

}  // namespace hone
