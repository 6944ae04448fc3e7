// What one graph computes as nodes of another.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Adds the nodes of `from`, its inputs being `inputs`, and gives the values of its outputs. Its constants come along,
// without their labels.
std::vector<ValueId> inline_graph(Graph& into, const Graph& from, std::span<const ValueId> inputs);

}  // namespace hone
