// attention_gradient as products, softmax and its gradient, each of which is compiled.
#include "gradients/attention.h"
#include "ops/calls.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Where there are no keys, nothing is a softmax.
bool is_expandable(const Graph& graph, const Node& node) {
  for (ValueId v : node.operands)
    if (v != kNone && !graph.type(v).ranked) return false;
  return graph.type(node.operands[1]).shape[1] != Dim(0);
}

Graph expand_attention_gradient(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(attention_gradient_def)) {
    const Node node = graph.node(id);
    if (!is_expandable(graph, node)) continue;
    const ValueId mask = node.operands.size() > 4 ? node.operands[4] : kNone;
    graph.set_insertion_point(id);
    const AttentionGradients all = expanded_attention_gradient(
        graph, {node.operands[0], node.operands[1], node.operands[2], mask, node.operands[3]}, node.attributes);
    graph.set_insertion_point(kNone);
    const ValueId values[] = {all.q, all.k, all.v};
    for (size_t i = 0; i < 3; ++i) {
      graph.refine_type(values[i], graph.type(node.results[i]));
      graph.replace_all_uses(node.results[i], values[i]);
    }
    graph.erase(id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_attention_gradient_def{
    .name = "expand_attention_gradient",
    .doc = "attention_gradient → matrix products, softmax and its gradient.",
    .run = expand_attention_gradient};

}  // namespace hone
