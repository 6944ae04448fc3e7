// Convolutions over one to three axes, transposed ones, pools and resizes.
#pragma once

#include "tests/conformance/random_graph.h"

namespace hone::test {

// x [N,C,…] whose channels are a number.
inline ValueId some_image(RandomGraph& g, size_t least = 3) {
  const ValueId x = g.floats(least, 5);
  if (g.type(x).shape[1].is_constant()) return x;
  Shape shape = g.type(x).shape;
  shape[1] = g.small();
  return g.input(DType::f32, shape);
}
inline Attributes some_window(RandomGraph& g, size_t dims) {
  const auto each = [&](size_t count, int64_t first, int64_t last) {
    Axes list(count, first + g.below(last - first + 1));
    if (g.one_in(3))
      for (int64_t& one : list) one = first + g.below(last - first + 1);
    return list;
  };
  Attributes attributes;
  if (g.one_in(2)) attributes.set("strides", each(dims, 1, 3));
  if (g.one_in(3)) attributes.set("dilations", each(dims, 1, 2));
  if (g.one_in(6)) attributes.set("auto_pad", g.one_of<std::string>({"same_upper", "same_lower"}));
  else if (!g.one_in(4)) attributes.set("pads", each(2 * dims, 0, 2));
  return attributes;
}
inline Axes some_kernel(RandomGraph& g, size_t dims) {
  Axes kernel(dims, 1 + g.below(3));
  if (g.one_in(2))
    for (int64_t& extent : kernel) extent = 1 + g.below(3);
  return kernel;
}
inline int64_t some_groups(RandomGraph& g, int64_t channels) {
  if (channels < 2 || g.one_in(2)) return 1;
  return channels % 2 == 0 && g.one_in(2) ? 2 : channels;
}
inline Axes joined(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Weights that are a constant may be packed.
inline ValueId window_weight(RandomGraph& g, const Axes& shape) {
  return g.weight(shape, g.one_in(6) ? g.one_of({"int8.channel", "int8", "mxint8"}) : nullptr);
}

inline void add_convolution(RandomGraph& g) {
  const ValueId x = some_image(g);
  const size_t dims = g.rank(x) - 2;
  const int64_t channels = g.size(x, 1), groups = some_groups(g, channels), outputs = groups * g.small();
  Attributes attributes = some_window(g, dims);
  attributes.set("groups", groups);
  std::vector<ValueId> operands{x, window_weight(g, joined({outputs, channels / groups}, some_kernel(g, dims)))};
  if (g.one_in(2)) operands.push_back(g.weight({outputs}));
  const ValueId y = g.emit("conv", operands, attributes);
  if (g.one_in(2)) g.emit("relu", {y});
}
inline void add_transposed_convolution(RandomGraph& g) {
  const ValueId x = some_image(g);
  const size_t dims = g.rank(x) - 2;
  const int64_t channels = g.size(x, 1), groups = some_groups(g, channels), outputs = 1 + g.below(3);
  Attributes attributes{{"groups", groups}, {"strides", Axes(dims, 1 + g.below(3))}};
  if (g.one_in(3)) attributes.set("dilations", Axes(dims, 1 + g.below(2)));
  if (g.one_in(3)) attributes.set("pads", Axes(2 * dims, 1));
  g.emit("conv_transpose", {x, g.weight(joined({channels, outputs}, some_kernel(g, dims)))}, attributes);
}
inline void add_convolution_of_codes(RandomGraph& g) {
  const size_t dims = static_cast<size_t>(1 + g.below(2));
  Shape shape = g.some_shape(2 + dims);
  shape[1] = g.one_in(2) ? 4 : g.small();
  const int64_t channels = shape[1].constant(), groups = some_groups(g, channels), outputs = groups * g.small();
  Attributes attributes = some_window(g, dims);
  attributes.set("groups", groups);
  const Axes w = joined({outputs, channels / groups}, some_kernel(g, dims));
  g.emit("conv",
         {g.input(g.one_of({DType::u8, DType::i8}), shape), g.constant(random_integers(g.rng, w, DType::i8, -9, 9))},
         attributes);
}
inline void add_pool(RandomGraph& g) {
  const ValueId x = g.floats(3, 5);
  const size_t dims = g.rank(x) - 2;
  Attributes attributes = some_window(g, dims);
  attributes.set("kernel_shape", some_kernel(g, dims));
  attributes.set("ceil_mode", g.below(2));
  const bool is_mean = g.one_in(2);
  if (is_mean) attributes.set("count_include_pad", g.below(2));
  g.emit(is_mean ? "avg_pool" : "max_pool", {x}, attributes);
}
inline void add_squeeze_and_excite(RandomGraph& g) {
  const ValueId x = some_image(g, 4);
  Axes axes;
  for (int64_t axis = 2; axis < std::ssize(g.type(x).shape); ++axis) axes.push_back(axis);
  const ValueId mean = g.emit("reduce_mean", {x}, {{"axes", axes}});
  const int64_t channels = g.size(x, 1);
  const ValueId w = g.weight(joined({channels, channels}, Axes(axes.size(), 1)));
  g.emit("mul", {x, g.emit("sigmoid", {g.emit("conv", {mean, w})})});
}
inline void add_resize(RandomGraph& g) {
  const ValueId x = g.floats(3, 5);
  const int64_t first = g.one_in(2) ? 2 : static_cast<int64_t>(g.rank(x)) - 1;
  Attributes attributes{{"mode", g.one_of<std::string>({"nearest", "linear"})}};
  Axes axes;
  Shape sizes;
  for (int64_t axis = first; axis < std::ssize(g.type(x).shape); ++axis)
    axes.push_back(axis), sizes.push_back(g.one_in(2) ? g.type(x).shape[static_cast<size_t>(axis)] * 2 : g.small());
  attributes.set("axes", axes), attributes.set("sizes", sizes);
  g.emit("resize", {x}, attributes);
}

inline constexpr RandomStep kWindowSteps[] = {{"convolution", add_convolution},
                                              {"convolution again", add_convolution},
                                              {"transposed convolution", add_transposed_convolution},
                                              {"convolution of codes", add_convolution_of_codes},
                                              {"pool", add_pool},
                                              {"squeeze and excite", add_squeeze_and_excite},
                                              {"resize", add_resize}};

}  // namespace hone::test
