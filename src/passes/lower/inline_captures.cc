// Constants that bodies capture, as constants of the bodies: products there read their weights laid out.
#include "passes/captures.h"
#include "passes/pass.h"

namespace hone {
namespace {

// What is captured stays an operand, which nobody reads.
Graph inline_captures(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId n : nodes) {
    const Node& node = graph.node(n);
    std::vector<Graph> bodies = node.subgraphs;
    bool changed = false;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const std::optional<Capture> capture = capture_at(node, i);
      const Tensor* constant = graph.constant(node.operands[i]);
      if (!capture || !constant || capture->body->use_count(capture->input) == 0) continue;
      Graph& body = bodies[capture->which];
      body.replace_all_uses(capture->input, body.add_constant("", *constant));
      changed = true;
    }
    if (!changed) continue;
    for (Graph& body : bodies) body.reinfer();
    graph.set_subgraphs(n, std::move(bodies));
  }
  return graph;
}

}  // namespace

extern constinit const PassDef inline_captures_def{.name = "inline_captures",
                                                   .doc = "Constants that bodies capture become constants of theirs.",
                                                   .run = inline_captures};

}  // namespace hone
