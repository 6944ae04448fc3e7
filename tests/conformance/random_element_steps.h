// What works element by element, on floats and integers, and rounds to number formats.
#pragma once

#include "tests/conformance/random_graph.h"

namespace hone::test {

inline void add_unary(RandomGraph& g) {
  const ValueId x = g.floats(0, 5);
  g.emit(g.one_of({"tanh", "sigmoid", "relu", "abs", "neg", "gelu", "silu", "sin"}), {x});
}
// With what broadcasts to it, on either side.
inline void add_binary(RandomGraph& g) {
  const ValueId x = g.floats(0, 4);
  const Shape beside = g.shape_beside(g.type(x).shape);
  ValueId y = g.alike(x);
  if (y == kNone || g.one_in(2))
    y = g.one_in(2) ? g.input(DType::f32, beside) : g.constant(random_floats(g.rng, g.sizes(beside)));
  const char* op = g.one_of({"add", "sub", "mul", "max", "min"});
  if (g.one_in(2)) g.emit(op, {x, y});
  else g.emit(op, {y, x});
}
// What both sides broadcast to.
inline void add_outer(RandomGraph& g) {
  const ValueId x = g.floats(1, 3);
  const auto rank = static_cast<int64_t>(g.rank(x));
  const ValueId a = g.emit("unsqueeze", {x}, {{"axes", Axes{g.below(rank + 1)}}});
  const ValueId b = g.emit("unsqueeze", {x}, {{"axes", Axes{g.below(rank + 1)}}});
  g.emit(g.one_of({"add", "mul"}), {a, b});
}
inline void add_choice(RandomGraph& g) {
  const ValueId x = g.floats(0, 4, true), y = g.input(DType::f32, g.shape_beside(g.type(x).shape));
  const ValueId chosen = g.emit(g.one_of({"less", "equal"}), {x, y});
  g.emit("where", {chosen, x, g.one_in(2) ? y : g.number(0.5f)});
}
inline void add_integer_step(RandomGraph& g) {
  const DType dtype = g.one_of({DType::i64, DType::i32, DType::u8});
  const ValueId x = g.integers(0, 4, dtype), y = g.input(dtype, g.shape_beside(g.type(x).shape));
  if (g.one_in(3)) g.emit("cast", {x}, {{"dtype", DType::f32}});
  else g.emit(g.one_of({"add", "sub", "mul", "max", "min", "bitwise_and", "bitwise_xor"}), {x, y});
}
inline void add_fake_quant(RandomGraph& g) {
  const ValueId x = g.floats(0, 4, true);
  g.emit("fake_quant", {x},
         {{"format", parse_format(g.one_of({"mxint8", "mxfp4", "int8.channel", "int4.g4", "int8", "int8.g1x0"}))}});
}
inline void add_linear_codes(RandomGraph& g) {
  const ValueId x = g.floats(0, 4, true), scale = g.number(0.05f);
  const DType dtype = g.one_of({DType::u8, DType::i8});
  const ValueId zero = g.constant(random_integers(g.rng, {}, dtype, 0, 9));
  const ValueId codes = g.emit("quantize_linear", {x, scale, zero}, {{"dtype", dtype}});
  g.emit("dequantize_linear", {codes, scale, zero}, {{"dtype", DType::f32}});
}
inline void add_dynamic_codes(RandomGraph& g) {
  const ValueId x = g.floats(0, 3, true);
  g.emit_all("quantize_dynamic", {x},
             {{"format", parse_format(g.one_of({"int8", "uint8.asym", "int8.g1x0", "uint8.asym.g1x0"}))}});
}
inline void add_packing(RandomGraph& g) {
  const ValueId x = g.floats(1, 3, true);
  const ValueId packed =
      g.emit("quantize", {x}, {{"format", parse_format(g.one_of({"mxint8", "int8.channel", "int4.g4"}))}});
  g.emit("dequantize", {packed});
}

inline constexpr RandomStep kElementSteps[] = {{"unary", add_unary},
                                               {"binary", add_binary},
                                               {"outer", add_outer},
                                               {"choice", add_choice},
                                               {"integers", add_integer_step},
                                               {"fake_quant", add_fake_quant},
                                               {"linear codes", add_linear_codes},
                                               {"dynamic codes", add_dynamic_codes},
                                               {"packing", add_packing}};

}  // namespace hone::test
