#include <set>

#include "ir/unbacked.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Symbols that the attributes of a node, and of the nodes in its bodies, are written with.
void collect_symbols(const Node& node, std::set<std::string>& symbols) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attributes.items()) {
    if (const auto* dim = std::get_if<Dim>(&value)) dim->collect_symbols(names);
    if (const auto* shape = std::get_if<Shape>(&value))
      for (const Dim& dim : *shape) dim.collect_symbols(names);
  }
  symbols.insert(names.begin(), names.end());
  for (const Graph& body : node.subgraphs)
    for (NodeId inner : body.nodes()) collect_symbols(body.node(inner), symbols);
}

// A size that depends on data is found by the node whose result has it.
bool finds_one_of(const Graph& graph, const Node& node, const std::set<std::string>& symbols) {
  for (ValueId result : node.results)
    for (const Dim& dim : graph.type(result).shape)
      if (depends_on_data(dim) && symbols.contains(dim.to_string())) return true;
  return false;
}

Graph remove_dead(Graph graph, const PassContext&) {
  std::vector<bool> needed(graph.value_capacity(), false);
  std::set<std::string> symbols;
  for (const Output& output : graph.outputs()) needed[static_cast<size_t>(output.value)] = true;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node& node = graph.node(*id);
    bool used = finds_one_of(graph, node, symbols);
    for (ValueId result : node.results) used = used || needed[static_cast<size_t>(result)];
    if (!used) {
      graph.erase(*id);
      continue;
    }
    collect_symbols(node, symbols);
    for (ValueId operand : node.operands)
      if (operand != kNone) needed[static_cast<size_t>(operand)] = true;
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef remove_dead_def{
    .name = "remove_dead", .doc = "Nodes and constants that no output needs go; inputs stay.", .run = remove_dead};

}  // namespace hone
