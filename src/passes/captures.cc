#include "passes/captures.h"
#include "ops/calls/control.h"

#include <algorithm>
#include <string_view>

namespace hone {
namespace {

size_t count_of(const Node& node, const char* attribute) {
  return static_cast<size_t>(node.attributes.get_or<int64_t>(attribute, 0));
}

std::optional<Capture> in_body(const Node& node, size_t body, size_t input) {
  const Graph& graph = node.subgraphs[body];
  if (input >= graph.inputs().size()) return std::nullopt;
  return Capture{&graph, body, graph.inputs()[input]};
}

}  // namespace

std::optional<Capture> capture_at(const Node& node, size_t operand) {
  const OpDef* const op = node.op;
  if (node.subgraphs.empty()) return std::nullopt;
  if (op == &if_def) {
    const size_t taken = count_of(node, "then_captures");
    if (operand == 0) return std::nullopt;
    return operand <= taken ? in_body(node, 0, operand - 1) : in_body(node, 1, operand - 1 - taken);
  }
  const size_t first = op == &loop_def   ? 2 + count_of(node, "carried")
                       : op == &scan_def ? count_of(node, "states") + count_of(node, "scans")
                                         : count_of(node, "inputs");
  return operand < first ? std::nullopt : in_body(node, 0, operand);
}

bool is_captured(const Graph& graph, ValueId value) {
  const std::vector<Graph::Use> uses = graph.uses(value);
  return std::ranges::any_of(uses, [&](const Graph::Use& use) { return !graph.node(use.node).subgraphs.empty(); });
}

void retype_captures(Graph& graph) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.subgraphs.empty()) continue;
    std::vector<Graph> bodies = node.subgraphs;
    bool changed = false;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const std::optional<Capture> capture = capture_at(node, i);
      if (!capture || node.operands[i] == kNone) continue;
      const TensorType &outside = graph.type(node.operands[i]), &inside = capture->body->type(capture->input);
      if (outside.format == inside.format) continue;
      bodies[capture->which].set_input_type(capture->input, outside);
      changed = true;
    }
    if (!changed) continue;
    for (Graph& body : bodies) {
      retype_captures(body);
      body.reinfer();
    }
    graph.set_subgraphs(id, std::move(bodies));
  }
}

}  // namespace hone
