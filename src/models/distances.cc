#include "models/distances.h"

#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "ops/calls/full.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/slice.h"
#include "ops/registry.h"

namespace hone {
namespace {

int64_t bucket(int64_t distance, const DistanceTable& table) {
  const int64_t half = table.span / 2, length = std::abs(distance);
  if (length <= half) return distance;
  const auto h = static_cast<float>(half);
  const float share = std::log(static_cast<float>(length) / h) / std::log(static_cast<float>(table.farthest - 1) / h);
  const auto beyond = static_cast<int64_t>(std::ceil(share * static_cast<float>(half - 1)));
  return distance < 0 ? -half - beyond : half + beyond;
}

}  // namespace

std::vector<int64_t> bucket_rows(const DistanceTable& table) {
  CHECK(table.span >= 2 && table.farthest - 1 > table.span / 2, "{} rows for distances up to {}", table.span,
        table.farthest);
  std::vector<int64_t> rows;
  for (int64_t d = -table.farthest; d < table.farthest; ++d)
    rows.push_back(std::clamp<int64_t>(bucket(d, table) + table.span, 0, 2 * table.span - 1));
  return rows;
}

ValueId distance_rows(Graph& graph, ValueId ids, const DistanceTable& table, Order order) {
  const auto of = [&](const char* op, ValueId a, ValueId b) { return graph.emit(ops::get(op), {a, b}); };
  const auto scalar = [&](int64_t value) { return graph.add_scalar(value); };
  const ValueId length = of("gather", ops::shape_of(graph, {ids}), scalar(1));
  const ValueId columns = ops::iota(graph, {.shape = Shape{2 * graph.type(ids).shape[1]}});
  const ValueId last = of("sub", length, scalar(1));
  const ValueId distances = order == Order::rising ? of("sub", columns, last) : of("sub", last, columns);
  const int64_t most = table.farthest > 0 ? table.farthest : table.span;
  const ValueId from_first = of("add", distances, scalar(most));
  const ValueId known = of("min", of("max", from_first, scalar(0)), scalar(2 * most - 1));
  if (table.farthest == 0) return known;
  return of("gather", graph.add_constant("", Tensor::of<int64_t>({2 * most}, bucket_rows(table))), known);
}

ValueId lines_aligned(Graph& graph, ValueId products) {
  const Shape shape = graph.type(products).shape;
  const Dim s = shape[2], line = 2 * s - 1;
  const auto reshape = [&](ValueId x, const Shape& to) { return ops::reshape(graph, {.x = x, .shape = to}); };
  const auto slice = [&](ValueId x, const Dim& start, const Dim& end, int64_t axis) {
    return ops::slice(graph, {.x = x, .starts = Shape{start}, .ends = Shape{end}, .axes = std::vector<int64_t>{axis}});
  };
  const ValueId flat = reshape(products, {shape[0], shape[1], 2 * s * s});
  const ValueId from_first = slice(flat, s - 1, s - 1 + s * line, 2);
  return slice(reshape(from_first, {shape[0], shape[1], s, line}), 0, s, 3);
}

}  // namespace hone
