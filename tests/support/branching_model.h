// A model whose weights lie in the bodies of an if: each branch a layer of its own, one weight under the same label in
// both, one large constant without a label, and a body within a body.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/registry.h"
#include "ops/rules.h"

namespace hone::test {

inline Tensor waves(std::vector<int64_t> shape, int seed) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 101 - 50) * 0.0137f;  // no format holds them
  return Tensor::of<float>(std::move(shape), values);
}

// f32[2,64] "a" → f32[2,8], through matmul by a constant [64,8], plus a row of an anonymous table.
inline Graph layer_body(const std::string& name, int seed) {
  Graph body;
  body.name = name;
  const ValueId a = body.add_input("a", plain_type(DType::f32, {2, 64}));
  const ValueId w = body.add_constant("w", waves({64, 8}, seed));
  const ValueId table = body.add_constant("", waves({4, 8}, seed + 1));
  const ValueId row =
      body.emit(ops::get("gather"), {table, body.add_scalar<int64_t>(seed % 4)}, {{"axis", int64_t{0}}});
  body.add_output(body.emit(ops::get("add"), {body.emit(ops::get("matmul"), {a, w}), row}), "0");
  return body;
}

// The same, within an if of its own that chooses between two such layers.
inline Graph nested_body(const std::string& name, int seed) {
  Graph body;
  body.name = name;
  const ValueId a = body.add_input("a", plain_type(DType::f32, {2, 64}));
  const ValueId first = body.emit(
      ops::get("slice"), {a}, {{"axes", std::vector<int64_t>{0, 1}}, {"starts", Shape{0, 0}}, {"ends", Shape{1, 1}}});
  const ValueId positive = body.emit(ops::get("greater"), {first, body.add_scalar(0.0f)});
  const NodeId chosen = body.add_node(ops::get("if"), {positive, a, a}, {{"then_captures", int64_t{1}}}, "chosen",
                                      {layer_body("inner_then", seed), layer_body("inner_else", seed + 2)});
  body.add_output(body.result(chosen), "0");
  return body;
}

// if "c" then a layer else one of two layers; before it a layer outside of any body.
inline Graph branching_model() {
  Graph graph;
  graph.name = "branching";
  const ValueId c = graph.add_input("c", plain_type(DType::boolean, {}));
  const ValueId x = graph.add_input("x", plain_type(DType::f32, {2, 32}));
  const ValueId outer = graph.add_constant("w", waves({64, 32}, 5));
  const ValueId h = graph.emit(ops::get("linear"), {x, outer});
  const NodeId chosen = graph.add_node(ops::get("if"), {c, h, h}, {{"then_captures", int64_t{1}}}, "chosen",
                                       {layer_body("then_branch", 1), nested_body("else_branch", 7)});
  graph.add_output(graph.result(chosen), "y");
  return graph;
}

}  // namespace hone::test
