// A graph too large to draw node by node: stretches of neighbouring nodes as one box each.
#pragma once

#include <string>

#include "ir/graph.h"

namespace hone {

constexpr int kMostBlocks = 40;  // with an edge between any two, dot still takes less than a second

// DOT text with at most kMostBlocks boxes, each with its ops by number, between the graph's inputs and outputs; an edge
// says how many values go from one to the other.
std::string blocks_dot(const Graph& graph);

}  // namespace hone
