// Moves and views of floats and integers.
#pragma once

#include <numeric>

#include "tests/conformance/random_graph.h"

namespace hone::test {

inline ValueId moved_value(RandomGraph& g, size_t least, size_t most = 4) {
  return g.one_in(4) ? g.integers(least, most) : g.floats(least, most);
}

inline void add_transpose(RandomGraph& g) {
  const ValueId x = moved_value(g, 1, 5);
  Axes perm(g.rank(x));
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i)
    std::swap(perm[i - 1], perm[static_cast<size_t>(g.below(static_cast<int64_t>(i)))]);
  g.emit("transpose", {x}, {{"perm", perm}});
}
inline void add_slice(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const int64_t axis = g.some_axis(x), length = g.size(x, axis), start = g.below(length + 1);
  const int64_t end = start + g.below(length - start + 1);
  g.emit("slice", {x},
         {{"axes", Axes{axis}}, {"starts", Shape{start}}, {"ends", Shape{end}}, {"steps", Axes{1 + g.below(2)}}});
}
inline void add_strided_slice(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const int64_t step = g.one_of<int64_t>({-2, -1, 2}), beyond = g.one_in(2) ? 100 : INT64_MAX;
  const int64_t start = step < 0 ? -1 - g.below(2) : g.below(3), end = step < 0 ? -beyond : beyond;
  g.emit("strided_slice", {x},
         {{"axes", Axes{g.some_axis(x)}}, {"starts", Shape{start}}, {"ends", Shape{end}}, {"steps", Shape{step}}});
}
inline void add_concat(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const int64_t axis = g.some_axis(x);
  std::vector<ValueId> parts{x};
  if (const ValueId other = g.alike(x); other != kNone) parts.push_back(other);
  Shape shape = g.type(x).shape;
  shape[static_cast<size_t>(axis < 0 ? axis + std::ssize(shape) : axis)] = g.some_shape(1)[0];
  parts.push_back(g.input(g.type(x).dtype, shape));
  if (g.one_in(2)) std::swap(parts.front(), parts.back());
  g.emit("concat", parts, {{"axis", axis}});
}
inline void add_gather(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const int64_t axis = g.some_axis(x), length = g.size(x, axis);
  const Shape ids = g.some_shape(static_cast<size_t>(g.below(3)));
  g.emit("gather",
         {x, g.constant(random_integers(g.rng, g.sizes(ids), DType::i64, -length, std::max<int64_t>(length - 1, 0)))},
         {{"axis", axis}});
}
inline void add_gather_elements(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const int64_t axis = g.some_axis(x), length = g.size(x, axis);
  g.emit("gather_elements",
         {x, g.constant(random_integers(g.rng, g.sizes(x), DType::i64, -length, std::max<int64_t>(length - 1, 0)))},
         {{"axis", axis}});
}
inline void add_pad(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const auto mode = g.one_of<std::string>({"constant", "edge", "reflect", "wrap"});
  g.emit("pad", {x}, {{"axes", Axes{g.some_axis(x)}}, {"pads", Shape{g.below(3), g.below(3)}}, {"mode", mode}});
}
// Two axes together, or one in front.
inline void add_reshape(RandomGraph& g) {
  const ValueId x = moved_value(g, 0, 5);
  Shape shape = g.type(x).shape;
  if (shape.size() > 1 && !g.one_in(4)) {
    const auto at = static_cast<size_t>(g.below(std::ssize(shape) - 1));
    shape[at] = shape[at] * shape[at + 1];
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(at) + 1);
  } else {
    shape.insert(shape.begin() + g.below(std::ssize(shape) + 1), Dim(1));
  }
  g.emit("reshape", {x}, {{"shape", shape}});
}
// One axis as two.
inline void add_division(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  Shape shape = g.type(x).shape;
  const auto at = static_cast<size_t>(g.below(std::ssize(shape)));
  const int64_t by = 1 + g.below(4);
  if (g.sizes(x)[at] % by != 0) return;
  shape[at] = floordiv(shape[at], by);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(at) + g.below(2), Dim(by));
  g.emit("reshape", {x}, {{"shape", shape}});
}
inline void add_axes_of_one(RandomGraph& g) {
  const ValueId x = moved_value(g, 0);
  if (g.one_in(2)) g.emit("squeeze", {x});
  else g.emit("unsqueeze", {x}, {{"axes", Axes{g.below(static_cast<int64_t>(g.rank(x)) + 1)}}});
}
inline void add_expand(RandomGraph& g) {
  const ValueId x = moved_value(g, 0, 3);
  Shape shape = g.type(x).shape;
  for (Dim& dim : shape)
    if (dim == Dim(1)) dim = g.small();
  if (g.one_in(2)) shape.insert(shape.begin(), Dim(g.small()));
  g.emit("expand", {x}, {{"shape", shape}});
}
inline void add_tile(RandomGraph& g) {
  const ValueId x = moved_value(g, 1, 3);
  Shape repeats;
  for (size_t i = 0; i < g.rank(x); ++i) repeats.push_back(1 + g.below(3));
  g.emit("tile", {x}, {{"repeats", repeats}});
}
inline void add_split(RandomGraph& g) {
  const ValueId x = moved_value(g, 1);
  const int64_t axis = g.some_axis(x), first = g.below(g.size(x, axis) + 1);
  const Dim& length = g.type(x).shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(g.rank(x)) : axis)];
  g.emit_all("split", {x}, {{"axis", axis}, {"sizes", Shape{first, length - first}}});
}

inline constexpr RandomStep kMoveSteps[] = {{"transpose", add_transpose},
                                            {"slice", add_slice},
                                            {"strided slice", add_strided_slice},
                                            {"concat", add_concat},
                                            {"gather", add_gather},
                                            {"gather elements", add_gather_elements},
                                            {"pad", add_pad},
                                            {"reshape", add_reshape},
                                            {"division", add_division},
                                            {"axes of one", add_axes_of_one},
                                            {"expand", add_expand},
                                            {"tile", add_tile},
                                            {"split", add_split}};

}  // namespace hone::test
