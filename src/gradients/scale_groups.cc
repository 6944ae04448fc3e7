#include "gradients/scale_groups.h"

#include "ops/calls/expand.h"
#include "ops/calls/pad.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/scale_groups.h"

namespace hone {
namespace {

Shape with(Shape shape, size_t axis, std::initializer_list<Dim> dims) {
  shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), dims);
  return shape;
}

}  // namespace

ValueId spread_over_groups(Graph& graph, ValueId scale, const Format& format, const Shape& x) {
  const std::vector<int64_t> extents = group_extents(format, x.size());
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] <= 1) continue;  // one for all of the axis broadcasts
    const Shape from = graph.type(scale).shape;
    const Dim groups = from[axis], reached = groups * extents[axis];
    scale = ops::reshape(graph, {.x = scale, .shape = with(from, axis, {groups, 1})});
    scale = ops::expand(graph, {.x = scale, .shape = with(from, axis, {groups, extents[axis]})});
    scale = ops::reshape(graph, {.x = scale, .shape = with(from, axis, {reached})});
    if (reached != x[axis])
      scale = ops::slice(graph, {.x = scale,
                                 .starts = Shape{0},
                                 .ends = Shape{x[axis]},
                                 .axes = std::vector<int64_t>{static_cast<int64_t>(axis)}});
  }
  return scale;
}

ValueId summed_over_groups(Graph& graph, ValueId elements, const Format& format) {
  const Shape x = graph.type(elements).shape, scales = scale_shape(format, x);
  const std::vector<int64_t> extents = group_extents(format, x.size());
  if (extents.empty()) return ops::reduce_sum(graph, {.x = elements, .keepdims = 0});
  std::vector<int64_t> whole;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] == 0) whole.push_back(static_cast<int64_t>(axis));
  if (!whole.empty()) elements = ops::reduce_sum(graph, {.x = elements, .axes = whole});
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] <= 1) continue;
    const auto at = static_cast<int64_t>(axis);
    const Dim reached = scales[axis] * extents[axis];
    if (reached != x[axis])
      elements = ops::pad(graph, {.x = elements, .pads = Shape{0, reached - x[axis]}, .axes = std::vector{at}});
    const Shape from = graph.type(elements).shape;
    elements = ops::reshape(graph, {.x = elements, .shape = with(from, axis, {scales[axis], extents[axis]})});
    elements = ops::reduce_sum(graph, {.x = elements, .axes = std::vector{at + 1}, .keepdims = 0});
  }
  return elements;
}

}  // namespace hone
