// MatMul by a constant [K,N], and an addition of a constant [N] after it: how exporters spell a dense layer.
#include <map>

#include "ops/calls/arithmetic.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/moved_parameter.h"
#include "passes/packed_transpose.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Transposed weights by the constant they were made from: users of one weight share one.
using Transposed = std::map<ValueId, ValueId>;

void matmul_to_linear(Graph& graph, NodeId id, Transposed& transposed) {
  const ValueId x = graph.operand(id, 0), w = graph.operand(id, 1);
  const Tensor* weight = graph.constant(w);
  if (!weight || weight->shape().size() != 2 || !is_float(weight->dtype())) return;
  if (graph.node(id).attributes.get_or<int64_t>("transpose_a", 0) == 1) return;
  if (graph.node(id).attributes.get_or<int64_t>("transpose_b", 0) == 1) {
    replace_node(graph, id, ops::Linear{.x = x, .w = w});
    return;
  }
  if (!transposed.contains(w)) {
    std::optional<Tensor> rows = packed_transpose(*weight);
    if (!rows && weight->is_packed()) return;
    if (!rows) rows = evaluate_node(transpose_def, {&weight, 1})[0];
    transposed[w] = graph.add_constant("", *std::move(rows));
  }
  replace_node(graph, id, ops::Linear{.x = x, .w = transposed[w]});
}

// Of a parameter, or of what is moved of one, before the node that reads it.
ValueId as_bias(Graph& graph, ValueId id, const Dim& outputs, NodeId reader) {
  const TensorType& type = graph.type(id);
  if (!type.is_static() || !is_float(type.dtype) || type.rank() == 0 || type.shape.back() != outputs ||
      element_count(type.shape) != outputs)
    return kNone;
  if (type.rank() == 1) return id;
  graph.set_insertion_point(reader);
  const ValueId row = ops::reshape(graph, {.x = id, .shape = Shape{outputs}});
  graph.set_insertion_point(kNone);
  return row;
}

// [N], or [1,...,1,N] as [N]; kNone when the constant is no bias for `outputs` columns.
ValueId as_bias(Graph& graph, ValueId id, const Dim& outputs) {
  const Tensor* tensor = graph.constant(id);
  if (!tensor || tensor->is_packed() || !is_float(tensor->dtype()) || tensor->shape().empty()) return kNone;
  if (Dim(tensor->dim(-1)) != outputs || tensor->elements() != tensor->dim(-1)) return kNone;
  if (tensor->shape().size() == 1) return id;
  const ValueId row = graph.add_constant("", tensor->reshaped({tensor->dim(-1)}));
  graph.set_label(row, derived_label(graph, id, ".row"));
  return row;
}

void absorb_bias(Graph& graph, NodeId linear) {
  const ValueId y = graph.result(linear);
  const std::vector<ValueId> operands = graph.node(linear).operands;
  if (operands.size() > 2 && operands[2] != kNone) return;
  const std::vector<Graph::Use> uses = graph.uses(y);
  if (uses.size() != 1 || graph.use_count(y) != 1) return;
  const NodeId add = uses[0].node;
  if (graph.node(add).op != &add_def || graph.type(y).rank() == 0 || graph.type(graph.result(add)) != graph.type(y))
    return;
  const ValueId other = operand_beside(graph, add, y);
  const Dim outputs = graph.type(y).shape.back();
  const ValueId bias =
      is_moved_parameter(graph, other) ? as_bias(graph, other, outputs, add) : as_bias(graph, other, outputs);
  if (bias == kNone) return;
  replace_node(graph, add, ops::Linear{.x = operands[0], .w = operands[1], .b = bias});
  graph.erase(linear);
}

Graph recognise_linear(Graph graph, const PassContext&) {
  Transposed transposed;
  for (NodeId id : graph.nodes(matmul_def)) matmul_to_linear(graph, id, transposed);
  for (const auto& [columns, rows] : transposed) graph.set_label(rows, derived_label(graph, columns, ".transposed"));
  for (NodeId id : graph.nodes(linear_def)) absorb_bias(graph, id);
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef recognise_linear_def{.name = "recognise_linear",
                                                    .doc =
                                                        "matmul by a constant [K,N] becomes linear with the constant "
                                                        "as [N,K]; a constant or parameter [N] added after becomes its "
                                                        "bias.",
                                                    .run = recognise_linear};

}  // namespace hone
