// `if` whose condition is known: the body that it chooses, as nodes of the graph around it.
#pragma once

#include <map>
#include <set>

#include "ir/graph.h"

namespace hone {

// Of the values, those that follow from constants and from the types of values.
std::map<ValueId, Tensor> known_values(const Graph& graph, const std::set<ValueId>& wanted);

// The nodes `if` whose conditions follow from constants and from the types of values, and what those are.
std::map<NodeId, bool> known_conditions(const Graph& graph);

// Puts the nodes of the body that the condition chooses before the `if`, which goes. Names, labels that are free and
// symbols of sizes that the body finds stay. False, and nothing is done, where the body gives packed values, which the
// `if` would decode, or where its symbols stand for other sizes in the graph.
bool choose_branch(Graph& graph, NodeId node, bool condition);

}  // namespace hone
