// Products: of rows with weights, of values, of codes, and attention, as one op and spelled out.
#pragma once

#include "tests/conformance/random_graph.h"

namespace hone::test {

inline const char* some_packed_format(RandomGraph& g) {
  return g.one_of({"mxint8", "mxint4", "mxfp4", "int8.channel", "int4.g4", "int8", "fp8_e4m3", "uint4.g8.asym"});
}

inline void add_linear(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  const int64_t k = g.size(x, -1), n = g.small();
  std::vector<ValueId> operands{x, g.weight({n, k}, g.one_in(3) ? some_packed_format(g) : nullptr)};
  if (g.one_in(2)) operands.push_back(g.weight({n}));
  g.emit("linear", operands);
}
inline void add_product(RandomGraph& g) {
  const ValueId x = g.floats(1, 4);
  const int64_t transpose_a = g.rank(x) > 1 ? g.below(2) : 0, transpose_b = g.below(2);
  const Dim k = g.type(x).shape[g.rank(x) - static_cast<size_t>(1 + transpose_a)], n = g.some_shape(1)[0];
  Shape w;
  if (g.rank(x) > 2 && g.one_in(2)) w = g.shape_beside({g.type(x).shape.begin(), g.type(x).shape.end() - 2});
  w.push_back(transpose_b ? n : k), w.push_back(transpose_b ? k : n);
  const ValueId other = is_constant(w) && g.one_in(2) ? g.weight(constant_shape(w)) : g.input(DType::f32, w);
  g.emit("matmul", {x, other}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}
inline void add_square(RandomGraph& g) {
  const ValueId x = g.floats(2, 4);
  const int64_t first = g.below(2);
  g.emit("matmul", {x, x}, {{"transpose_a", first}, {"transpose_b", 1 - first}});
}
inline void add_spelled_attention(RandomGraph& g) {
  const ValueId q = g.floats(2, 4);
  Shape k = g.type(q).shape;
  k[k.size() - 2] = g.some_shape(1)[0];
  const ValueId keys = g.input(DType::f32, k), values = g.one_in(2) ? keys : g.input(DType::f32, k);
  ValueId scores = g.emit("matmul", {q, keys}, {{"transpose_b", int64_t{1}}});
  scores = g.emit("mul", {scores, g.number(0.5f)});
  if (g.one_in(2)) scores = g.emit("add", {scores, g.input(DType::f32, g.shape_beside(g.type(scores).shape))});
  g.emit("matmul", {g.emit("softmax", {scores}), values});
}
inline void add_attention(RandomGraph& g) {
  const Shape s = g.some_shape(3);  // batches, queries, keys
  const int64_t kv_heads = 1 + g.below(2), heads = kv_heads * (1 + g.below(2)), columns = g.small();
  const auto part = [&](const Dim& rows, int64_t each) {
    return g.input(DType::f32, {s[0], rows, Dim(each * columns)});
  };
  std::vector<ValueId> operands{part(s[1], heads), part(s[2], kv_heads), part(s[2], kv_heads)};
  if (g.one_in(2)) operands.push_back(g.input(DType::f32, g.shape_beside({s[0], heads, s[1], s[2]})));
  Attributes attributes{{"heads", heads}, {"kv_heads", kv_heads}};
  if (g.one_in(2)) attributes.set("causal", int64_t{1}), attributes.set("blind_is_zero", int64_t{1});
  g.emit("attention", operands, attributes);
}
inline void add_product_of_codes(RandomGraph& g) {
  const DType dtype = g.one_of({DType::i8, DType::u8});
  const ValueId x = g.integers(1, 3, dtype);
  const Axes w{g.small(), g.size(x, -1)};
  const Tensor weights = random_integers(g.rng, w, DType::i8, -9, 9);
  g.emit("linear", {x, g.one_in(3) ? g.input(DType::i8, to_shape(w)) : g.constant(weights)});
}
inline void add_table(RandomGraph& g) {
  const Axes shape{g.small(), g.small()};
  const ValueId table = g.weight(shape, g.one_in(2) ? some_packed_format(g) : nullptr);
  const Shape ids = g.some_shape(static_cast<size_t>(g.below(3)));
  g.emit("gather", {table, g.constant(random_integers(g.rng, g.sizes(ids), DType::i64, -shape[0], shape[0] - 1))});
}

inline constexpr RandomStep kProductSteps[] = {
    {"linear", add_linear},       {"product", add_product},
    {"square", add_square},       {"spelled attention", add_spelled_attention},
    {"attention", add_attention}, {"product of codes", add_product_of_codes},
    {"table", add_table}};

}  // namespace hone::test
