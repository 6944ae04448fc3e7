#include "examples/demo/neighbours.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/threads.h"

namespace hone {
namespace {

std::vector<float> unit_rows(const Tensor& rows) {
  std::vector<float> values = rows.to_floats();
  const auto width = static_cast<size_t>(rows.dim(1));
  for (size_t begin = 0; begin < values.size(); begin += width) {
    double sum = 0;
    for (size_t c = 0; c < width; ++c) sum += double{values[begin + c]} * values[begin + c];
    const auto scale = static_cast<float>(sum > 0 ? 1 / std::sqrt(sum) : 0);
    for (size_t c = 0; c < width; ++c) values[begin + c] *= scale;
  }
  return values;
}

}  // namespace

NeighbourResult classify_by_neighbours(const Tensor& index, const std::vector<int>& index_labels, const Tensor& queries,
                                       const std::vector<int>& query_labels, int votes) {
  CHECK(index.dim(1) == queries.dim(1) && index.dim(0) == static_cast<int64_t>(index_labels.size()) &&
        queries.dim(0) == static_cast<int64_t>(query_labels.size()));
  const std::vector<float> known = unit_rows(index), asked = unit_rows(queries);
  const auto width = static_cast<size_t>(index.dim(1));
  const size_t n = index_labels.size(), m = query_labels.size(), k = std::min<size_t>(static_cast<size_t>(votes), n);
  NeighbourResult result;
  result.nearest.resize(m);
  result.predicted.resize(m);
  parallel_for(static_cast<int64_t>(m), [&](int64_t query) {
    const float* q = asked.data() + static_cast<size_t>(query) * width;
    std::vector<float> cosine(n);
    for (size_t i = 0; i < n; ++i) cosine[i] = std::inner_product(q, q + width, known.data() + i * width, 0.0f);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(k), order.end(),
                      [&](size_t a, size_t b) { return cosine[a] != cosine[b] ? cosine[a] > cosine[b] : a < b; });
    std::map<int, float> score;
    for (size_t i = 0; i < k; ++i) score[index_labels[order[i]]] += cosine[order[i]];
    const auto best =
        std::max_element(score.begin(), score.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    result.nearest[static_cast<size_t>(query)] = static_cast<int>(order[0]);
    result.predicted[static_cast<size_t>(query)] = best->first;
  });
  int64_t right = 0;
  for (size_t i = 0; i < m; ++i) right += result.predicted[i] == query_labels[i];
  result.accuracy = static_cast<double>(right) / static_cast<double>(m);
  return result;
}

}  // namespace hone
