// A graph and the bodies of its nodes (if, loop, scan, sequence_map), and the bodies within those: one tree. What is
// true of a model's constants is asked of the whole tree.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace hone {

// Calls `visit` with the graph, then with each body in it, in the order of the nodes.
void for_each_graph(const Graph& graph, const std::function<void(const Graph&)>& visit);

// Each body of the graph's own nodes becomes what `edit` makes of it, which has the same inputs, and outputs of types
// that fit the node's results.
void edit_bodies(Graph& graph, const std::function<Graph(Graph)>& edit);

bool has_bodies(const Graph& graph);

// The first constant of that label in the tree: in which graph, and its id there. {nullptr, kNone} when there is none.
struct PlacedConstant {
  const Graph* graph = nullptr;
  ValueId id = kNone;
  const Tensor& tensor() const { return *graph->constant(id); }
};
PlacedConstant find_labelled(const Graph& graph, std::string_view label);

// No two constants of the tree have one label: the second "w" is "w.2". Labels of the outermost graph stay.
Graph with_unique_labels(Graph graph);

}  // namespace hone
