#include "ir/bodies.h"

#include <algorithm>
#include <set>

namespace hone {

void for_each_graph(const Graph& graph, const std::function<void(const Graph&)>& visit) {
  visit(graph);
  for (NodeId id : graph.nodes())
    for (const Graph& body : graph.node(id).subgraphs) for_each_graph(body, visit);
}

void edit_bodies(Graph& graph, const std::function<Graph(Graph)>& edit) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    if (graph.node(id).subgraphs.empty()) continue;
    std::vector<Graph> bodies = graph.node(id).subgraphs;
    for (Graph& body : bodies) body = edit(std::move(body));
    graph.set_subgraphs(id, std::move(bodies));
  }
}

bool has_bodies(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](NodeId id) { return !graph.node(id).subgraphs.empty(); });
}

PlacedConstant find_labelled(const Graph& graph, std::string_view label) {
  PlacedConstant found;
  for_each_graph(graph, [&](const Graph& each) {
    if (found.id == kNone && each.find_constant(label) != kNone) found = {&each, each.find_constant(label)};
  });
  return found;
}

namespace {

void make_unique(Graph& graph, std::set<std::string>& taken) {
  for (ValueId id : graph.constants()) {
    const std::string wanted = graph.value(id).label;
    if (wanted.empty()) continue;
    std::string label = wanted;
    for (int copy = 2; !taken.insert(label).second; ++copy) label = fmt::format("{}.{}", wanted, copy);
    if (label != wanted) graph.set_label(id, label);
  }
  edit_bodies(graph, [&](Graph body) {
    make_unique(body, taken);
    return body;
  });
}

}  // namespace

Graph with_unique_labels(Graph graph) {
  std::set<std::string> taken;
  for (ValueId id : graph.inputs())  // tensors of the file, too
    if (graph.value(id).initial) taken.insert(graph.value(id).label);
  make_unique(graph, taken);
  return graph;
}

}  // namespace hone
