#include "models/distance_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"

namespace hone {

std::vector<int64_t> distance_buckets(int64_t buckets, int64_t farthest) {
  const int64_t half = buckets / 2, own = half / 2;
  CHECK(own >= 1 && farthest > own, "{} buckets for distances up to {}", buckets, farthest);
  const auto span = static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(own)));
  std::vector<int64_t> rows;
  for (int64_t d = -farthest; d <= farthest; ++d) {
    const int64_t length = std::abs(d);
    int64_t bucket = length;
    if (length >= own) {
      const float share = std::log(static_cast<float>(length) / static_cast<float>(own)) / span;
      bucket = std::min(own + static_cast<int64_t>(share * static_cast<float>(half - own)), half - 1);
    }
    rows.push_back(bucket + (d > 0 ? half : 0));
  }
  return rows;
}

void require_buckets(const std::string& source, int64_t buckets, int64_t farthest) {
  constexpr int64_t kMost = 1 << 20;
  if (buckets < 4 || buckets % 2 != 0 || farthest <= buckets / 4 || farthest > kMost)
    fail(
        "{}: {} buckets for distances up to {}; accepted: an even number from 4 on, and a distance from a quarter of "
        "it "
        "to {}",
        source, buckets, farthest, kMost);
}

ValueId distance_bias(TransformerBuilder& builder, ValueId ids, const std::string& name, int64_t buckets,
                      int64_t farthest, int64_t heads) {
  Graph& graph = builder.graph();
  const auto scalar = [&](int64_t value) { return graph.add_scalar(value); };
  const ValueId places = ops::iota(graph, {.shape = Shape{graph.type(ids).shape[1]}});
  const ValueId keys = ops::unsqueeze(graph, {.x = places, .axes = std::vector<int64_t>{0}});
  const ValueId queries = ops::unsqueeze(graph, {.x = places, .axes = std::vector<int64_t>{1}});
  const ValueId distances = ops::sub(graph, {keys, queries});
  const ValueId near = ops::max(graph, {ops::min(graph, {distances, scalar(farthest)}), scalar(-farthest)});
  const ValueId bucket_table =
      graph.add_constant("", Tensor::of<int64_t>({2 * farthest + 1}, distance_buckets(buckets, farthest)));
  const ValueId bucket =
      ops::gather(graph, {.table = bucket_table, .indices = ops::add(graph, {near, scalar(farthest)})});
  const ValueId rows = builder.embedding(bucket, name, buckets, heads);  // [S,S,heads]
  const ValueId by_head = ops::transpose(graph, {.x = rows, .perm = std::vector<int64_t>{2, 0, 1}});
  return ops::unsqueeze(graph, {.x = by_head, .axes = std::vector<int64_t>{0}}, "distance_bias");
}

}  // namespace hone
