// Attention scores that depend on how far apart query and key are: the parts that models with relative positions share.
//
// Distance d = i - j of query i and key j has a row in a table. The products of S queries with 2S rows in falling order
// of distance, from S - 1 on, hold each score that is needed, a line further left than the next: that of (i, j) is in
// column S - 1 - i + j. Read as lines of 2S - 1 elements they lie below each other, so no element is looked up.
#pragma once

#include "models/transformer.h"

namespace hone {

// Rows of distances [-span, span) of a table [2 * span, columns]. With buckets, distances up to span / 2 have a row of
// their own and further ones share rows, wider ones the further they are, up to `farthest`; distances beyond the last
// row have that row.
struct DistanceTable {
  int64_t span = 0;
  int64_t farthest = 0;  // 0: no buckets
};

// For distances -farthest … farthest - 1 the row of the table: sign(d) (h + ceil(ln(|d| / h) / ln((farthest - 1) / h)
// (h - 1))) beyond h = span / 2, plus span, in f32 arithmetic as models were trained with. Throws Bug unless farthest -
// 1 > h >= 1.
std::vector<int64_t> bucket_rows(const DistanceTable& table);

enum class Order : uint8_t { rising, falling };

// The row of each of 2S distances, i64[2S]: 1 - S … S, or S - 1 … -S; S is the length of ids[B,S].
ValueId distance_rows(Graph& graph, ValueId ids, const DistanceTable& table, Order order);

// [B,H,S,2S] → [B,H,S,S]: element (i, j) is that of column S - 1 - i + j.
ValueId lines_aligned(Graph& graph, ValueId products);

}  // namespace hone
