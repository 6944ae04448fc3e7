#include "passes/pass.h"

namespace hone {
namespace {

Graph remove_dead(Graph graph, const PassContext&) {
  std::vector<bool> needed(graph.value_capacity(), false);
  for (const Output& output : graph.outputs()) needed[static_cast<size_t>(output.value)] = true;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    bool used = false;
    for (ValueId result : graph.node(*id).results) used = used || needed[static_cast<size_t>(result)];
    if (!used) {
      graph.erase(*id);
      continue;
    }
    for (ValueId operand : graph.node(*id).operands)
      if (operand != kNone) needed[static_cast<size_t>(operand)] = true;
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef remove_dead_def{
    .name = "remove_dead", .doc = "Nodes and constants that no output needs go; inputs stay.", .run = remove_dead};

}  // namespace hone
