#include "models/rotary.h"

#include <cmath>

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/concat.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transcendental.h"

namespace hone {

std::vector<double> rotary_frequencies(int64_t columns, double theta) {
  CHECK(columns > 0 && columns % 2 == 0, "heads of {} columns", columns);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < columns; i += 2)
    frequencies.push_back(std::pow(theta, -static_cast<double>(i) / static_cast<double>(columns)));
  return frequencies;
}

Rotation rotation(Graph& graph, ValueId positions, const std::vector<double>& frequencies, double factor) {
  const std::vector<float> rounded(frequencies.begin(), frequencies.end());
  const ValueId each = graph.add_constant("", Tensor::of<float>({std::ssize(rounded)}, rounded));
  const bool of_rows = graph.type(positions).rank() == 2;
  const ValueId places =
      ops::unsqueeze(graph, {.x = ops::cast(graph, {.x = positions, .dtype = DType::f32}),
                             .axes = of_rows ? std::vector<int64_t>{2, 3} : std::vector<int64_t>{0, 2, 3}});
  const ValueId angles = ops::mul(graph, {places, each});
  const auto scaled = [&](ValueId x) {
    return factor == 1 ? x : ops::mul(graph, {x, graph.add_scalar(static_cast<float>(factor))});
  };
  return {.cosine = scaled(ops::cos(graph, {angles})),
          .sine = scaled(ops::sin(graph, {angles})),
          .columns = 2 * std::ssize(frequencies)};
}

ValueId rotated(Graph& graph, ValueId x, const Rotation& by, int64_t heads, const std::string& result) {
  const Shape shape = graph.type(x).shape;
  const int64_t columns = shape[2].constant() / heads, half = by.columns / 2;
  const ValueId split = ops::reshape(graph, {.x = x, .shape = Shape{shape[0], shape[1], heads, columns}});
  const auto part = [&](int64_t begin, int64_t end) {
    return ops::slice(graph,
                      {.x = split, .starts = Shape{begin}, .ends = Shape{end}, .axes = std::vector<int64_t>{3}});
  };
  const ValueId a = part(0, half), b = part(half, 2 * half);
  const auto product = [&](ValueId v, ValueId factor) { return ops::mul(graph, {v, factor}); };
  std::vector<ValueId> parts{ops::sub(graph, {product(a, by.cosine), product(b, by.sine)}),
                             ops::add(graph, {product(b, by.cosine), product(a, by.sine)})};
  if (by.columns < columns) parts.push_back(part(by.columns, columns));
  const ValueId all = ops::concat(graph, {.inputs = parts, .axis = 3});
  return ops::reshape(graph, {.x = all, .shape = shape}, result);
}

}  // namespace hone
