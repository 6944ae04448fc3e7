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

Rotation rotation(Graph& graph, ValueId positions, int64_t columns, double theta) {
  CHECK(columns > 0 && columns % 2 == 0, "heads of {} columns", columns);
  std::vector<float> frequencies;
  for (int64_t i = 0; i < columns; i += 2)
    frequencies.push_back(static_cast<float>(std::pow(theta, -static_cast<double>(i) / static_cast<double>(columns))));
  const ValueId each = graph.add_constant("", Tensor::of<float>({columns / 2}, frequencies));
  const ValueId places = ops::unsqueeze(
      graph, {.x = ops::cast(graph, {.x = positions, .dtype = DType::f32}), .axes = std::vector<int64_t>{0, 2, 3}});
  const ValueId angles = ops::mul(graph, {places, each});
  return {.cosine = ops::cos(graph, {angles}), .sine = ops::sin(graph, {angles})};
}

ValueId rotated(Graph& graph, ValueId x, const Rotation& by, int64_t heads, const std::string& result) {
  const Shape shape = graph.type(x).shape;
  const int64_t half = shape[2].constant() / heads / 2;
  const ValueId split = ops::reshape(graph, {.x = x, .shape = Shape{shape[0], shape[1], heads, 2 * half}});
  const auto part = [&](int64_t i) {
    return ops::slice(
        graph, {.x = split, .starts = Shape{i * half}, .ends = Shape{(i + 1) * half}, .axes = std::vector<int64_t>{3}});
  };
  const ValueId a = part(0), b = part(1);
  const auto product = [&](ValueId v, ValueId factor) { return ops::mul(graph, {v, factor}); };
  const ValueId first = ops::sub(graph, {product(a, by.cosine), product(b, by.sine)});
  const ValueId second = ops::add(graph, {product(b, by.cosine), product(a, by.sine)});
  const ValueId both = ops::concat(graph, {.inputs = {first, second}, .axis = 3});
  return ops::reshape(graph, {.x = both, .shape = shape}, result);
}

}  // namespace hone
