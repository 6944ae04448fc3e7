// MatMul by a parameter [K,N], or by what only moves make of one. Its transpose stays a node, which whoever owns the
// parameter may make part of it (train/training_form.h).
#include <map>

#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/transpose.h"
#include "passes/match.h"
#include "passes/moved_parameter.h"
#include "passes/pass.h"
#include "passes/permutation.h"

namespace hone {
namespace {

void matmul_to_linear(Graph& graph, NodeId id, std::map<ValueId, ValueId>& transposed) {
  const Node& node = graph.node(id);
  const ValueId x = node.operands[0], w = node.operands[1];
  const TensorType& type = graph.type(w);
  if (!is_moved_parameter(graph, w) || is_moved_parameter(graph, x)) return;
  if (type.rank() != 2 || !type.is_static() || !is_float(type.dtype)) return;
  if (node.attributes.get_or<int64_t>("transpose_a", 0) == 1) return;
  if (node.attributes.get_or<int64_t>("transpose_b", 0) == 1) {
    replace_node(graph, id, ops::Linear{.x = x, .w = w});
    return;
  }
  if (const NodeId before = permutation_before(graph, w); before != kNone) {
    replace_node(graph, id, ops::Linear{.x = x, .w = graph.operand(before, 0)});
    return;
  }
  ValueId& rows = transposed.try_emplace(w, kNone).first->second;
  if (rows == kNone) {
    graph.set_insertion_point(id);
    rows = ops::transpose(graph, {.x = w, .perm = Permutation{1, 0}});
    graph.set_insertion_point(kNone);
  }
  replace_node(graph, id, ops::Linear{.x = x, .w = rows});
}

Graph linear_of_parameters(Graph graph, const PassContext&) {
  std::map<ValueId, ValueId> transposed;
  for (NodeId id : graph.nodes(matmul_def)) matmul_to_linear(graph, id, transposed);
  return graph;
}

}  // namespace

extern constinit const PassDef linear_of_parameters_def{
    .name = "linear_of_parameters",
    .doc = "matmul by a parameter [K,N] becomes linear by its transpose, which stays a node.",
    .run = linear_of_parameters};

}  // namespace hone
