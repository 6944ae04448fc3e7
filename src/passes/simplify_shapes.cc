// Ops that only move or reshape: pairs become one, and those that change nothing go.
#include <algorithm>
#include <numeric>

#include "ir/minted.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

bool is_view(const OpDef* op) { return op && op->codegen == Codegen::view; }

std::vector<int64_t> permutation(const Graph& graph, NodeId transpose) {
  const auto rank = static_cast<int64_t>(graph.type(graph.operand(transpose, 0)).rank());
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = graph.node(transpose).attributes.get_or<std::vector<int64_t>>("perm", perm);
  for (int64_t& axis : perm) axis += axis < 0 ? rank : 0;
  return perm;
}

void simplify_view(Graph& graph, NodeId id) {
  const ValueId x = graph.operand(id, 0);
  const TensorType& type = graph.type(graph.result(id));
  if (type == graph.type(x)) return replace_by_value(graph, id, x);
  if (!is_view(graph.producer_op(x))) return;
  const ValueId source = graph.operand(graph.producer(x), 0);
  if (type == graph.type(source)) return replace_by_value(graph, id, source);
  if (!type.ranked || depends_on_data(type.shape)) return;  // the view between may be what finds the sizes
  replace_node(graph, id, ops::get("reshape"), {source}, {{"shape", type.shape}});
}

void simplify_transpose(Graph& graph, NodeId id) {
  std::vector<int64_t> perm = permutation(graph, id);
  ValueId source = graph.operand(id, 0);
  const NodeId inner = produced_by(graph, source, "transpose");
  if (inner != kNone) {
    const std::vector<int64_t> first = permutation(graph, inner);
    for (int64_t& axis : perm) axis = first[static_cast<size_t>(axis)];
    source = graph.operand(inner, 0);
  }
  if (std::is_sorted(perm.begin(), perm.end())) return replace_by_value(graph, id, source);
  if (inner != kNone) replace_node(graph, id, ops::get("transpose"), {source}, {{"perm", perm}});
}

Graph simplify_shapes(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    const std::string_view name = node.op->name;
    if (is_view(node.op)) simplify_view(graph, id);
    else if (name == "transpose") simplify_transpose(graph, id);
    else if ((name == "expand" || (name == "concat" && node.operands.size() == 1)) &&
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
