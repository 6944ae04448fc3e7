// Ops that only move or reshape: pairs become one, and those that change nothing go.
#include <algorithm>

#include "base/stop.h"
#include "ir/unbacked.h"
#include "ops/calls/barrier.h"
#include "ops/calls/concat.h"
#include "ops/calls/expand.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/permutation.h"

namespace hone {
namespace {

bool is_view(const OpDef* op) { return op && op->view && op != &barrier_def; }

void simplify_view(Graph& graph, NodeId id) {
  const ValueId x = graph.operand(id, 0);
  const TensorType& type = graph.type(graph.result(id));
  if (type == graph.type(x)) return replace_by_value(graph, id, x);
  if (!is_view(graph.producer_op(x))) return;
  const ValueId source = graph.operand(graph.producer(x), 0);
  if (type == graph.type(source)) return replace_by_value(graph, id, source);
  if (!type.ranked || depends_on_data(type.shape)) return;  // the view between may be what finds the sizes
  replace_node(graph, id, ops::Reshape{.x = source, .shape = type.shape});
}

void simplify_transpose(Graph& graph, NodeId id) {
  Permutation perm = permutation_of(graph, id);
  ValueId source = graph.operand(id, 0);
  const NodeId inner = permutation_before(graph, source);
  if (inner != kNone) {
    perm = composed(permutation_of(graph, inner), perm);
    source = graph.operand(inner, 0);
  }
  if (std::is_sorted(perm.begin(), perm.end())) return replace_by_value(graph, id, source);
  if (inner != kNone) replace_node(graph, id, ops::Transpose{.x = source, .perm = perm});
}

Graph simplify_shapes(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    check_stop();
    if (is_view(node.op)) simplify_view(graph, id);
    else if (is_permutation(graph, id)) simplify_transpose(graph, id);
    else if ((node.op == &expand_def || (node.op == &concat_def && node.operands.size() == 1)) &&
             graph.type(graph.result(id)) == graph.type(graph.operand(id, 0)))
      replace_by_value(graph, id, graph.operand(id, 0));
  }
  return graph;
}

}  // namespace

extern constinit const PassDef simplify_shapes_def{.name = "simplify_shapes",
                                                   .doc =
                                                       "A reshape of a reshape and a transpose of a transpose become "
                                                       "one; reshapes, transposes and expands that change "
                                                       "nothing go.",
                                                   .run = simplify_shapes};

}  // namespace hone
