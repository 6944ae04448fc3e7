// Reductions of rows and columns, softmax and normalisations, alone and as they follow each other in networks.
#pragma once

#include "tests/conformance/random_graph.h"

namespace hone::test {

inline Attributes some_reduction(RandomGraph& g, ValueId x) {
  Attributes attributes{{"keepdims", g.below(2)}};
  if (!g.one_in(6)) attributes.set("axes", g.some_axes(x));
  return attributes;
}
inline const char* some_sum(RandomGraph& g) {
  return g.one_of({"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"});
}

inline void add_reduction(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  g.emit(some_sum(g), {x}, some_reduction(g, x));
}
// Of one value, or of what is made of it.
inline void add_two_reductions(RandomGraph& g) {
  ValueId x = g.floats(1, 4);
  Attributes first = some_reduction(g, x), second = g.one_in(3) ? first : some_reduction(g, x);
  first.set("keepdims", int64_t{1}), second.set("keepdims", int64_t{1});
  const ValueId sums = g.emit(some_sum(g), {x}, first);
  if (g.one_in(2)) x = g.emit("abs", {x});
  const ValueId others = g.emit(some_sum(g), {g.one_in(3) ? sums : x}, second);
  if (g.one_in(2)) g.emit("sub", {x, g.one_in(2) ? sums : others});
}
// As networks spell it.
inline void add_variance(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  const Attributes along{{"axes", g.some_axes(x)}};
  const ValueId centred = g.emit("sub", {x, g.emit("reduce_mean", {x}, along)});
  const ValueId variance = g.emit("reduce_mean", {g.emit("mul", {centred, centred})}, along);
  if (g.one_in(2)) g.emit("div", {centred, g.emit("sqrt", {g.emit("add", {variance, g.number(0.01f)})})});
}
inline void add_spelled_softmax(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  const Attributes along{{"axes", Axes{g.some_axis(x)}}};
  const ValueId e = g.emit("exp", {g.emit("sub", {x, g.emit("reduce_max", {x}, along)})});
  g.emit("div", {e, g.emit("reduce_sum", {e}, along)});
}
inline void add_softmax(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  g.emit(g.one_of({"softmax", "log_softmax"}), {x}, {{"axis", g.some_axis(x)}});
}
inline void add_norm(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  const auto weight = [&] { return g.weight({g.size(x, -1)}); };
  switch (g.below(4)) {
    case 0:
      g.emit("layer_norm", {x, weight(), weight()}, {{"epsilon", 0.01}});
      break;
    case 1:
      g.emit("layer_norm", {x}, {{"epsilon", 0.01}});
      break;
    case 2:
      g.emit("rms_norm", {x, weight()}, {{"epsilon", 0.01}});
      break;
    default:
      g.emit("l2_normalise", {x}, {{"epsilon", 0.01}});
  }
}
inline void add_row_gradient(RandomGraph& g) {
  const ValueId x = g.floats(1, 4), d = g.input(DType::f32, g.type(x).shape);
  if (g.one_in(2)) g.emit("softmax_gradient", {x, d}, {{"axis", g.some_axis(x)}});
  else g.emit(g.one_of({"layer_norm_gradient", "rms_norm_gradient"}), {x, d}, {{"epsilon", 0.01}});
}
inline void add_batch_norm(RandomGraph& g) {
  const ValueId x = g.floats(2, 5);
  const int64_t channels = g.size(x, 1);
  const auto some = [&](float low, float high) {
    return g.constant(random_floats(g.rng, {channels}, DType::f32, low, high));
  };
  g.emit("batch_norm", {x, some(-1, 1), some(-1, 1), some(-1, 1), some(0.5f, 2)});
}
inline void add_running_sum(RandomGraph& g) {
  const ValueId x = g.one_in(2) ? g.integers(1, 4) : g.floats(1, 4, true);
  if (g.one_in(4)) g.emit("reduce_prod", {x}, some_reduction(g, x));
  else
    g.emit(g.one_of({"cumsum", "cumprod"}), {x},
           {{"axis", g.some_axis(x)}, {"exclusive", g.below(2)}, {"reverse", g.below(2)}});
}
inline void add_order(RandomGraph& g) {
  const ValueId x = g.one_in(2) ? g.integers(1, 4) : g.floats(1, 4, true);
  const int64_t axis = g.some_axis(x);
  if (g.one_in(2)) g.emit(g.one_of({"argmax", "argmin"}), {x}, {{"axis", axis}, {"keepdims", g.below(2)}});
  else g.emit_all("top_k", {x}, {{"k", Shape{1 + g.below(g.size(x, axis))}}, {"axis", axis}, {"largest", g.below(2)}});
}
inline void add_integer_reduction(RandomGraph& g) {
  const ValueId x = g.integers(1, 4, g.one_of({DType::i64, DType::i32, DType::u8}));
  g.emit(g.one_of({"reduce_sum", "reduce_max", "reduce_min"}), {x}, some_reduction(g, x));
}

inline constexpr RandomStep kRowSteps[] = {{"reduction", add_reduction},
                                           {"two reductions", add_two_reductions},
                                           {"variance", add_variance},
                                           {"spelled softmax", add_spelled_softmax},
                                           {"softmax", add_softmax},
                                           {"norm", add_norm},
                                           {"row gradient", add_row_gradient},
                                           {"batch norm", add_batch_norm},
                                           {"running sum", add_running_sum},
                                           {"order", add_order},
                                           {"integer reduction", add_integer_reduction}};

}  // namespace hone::test
