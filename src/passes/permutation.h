// Transposes of a graph whose order of axes is known.
#pragma once

#include "ir/graph.h"
#include "ir/permutation.h"

namespace hone {

// Of a transpose whose operand has a known rank: without that, there is no telling which axes it moves.
Permutation permutation_of(const Graph& graph, NodeId transpose);
bool is_permutation(const Graph& graph, NodeId node);          // such a transpose
NodeId permutation_before(const Graph& graph, ValueId value);  // the one that makes the value, or kNone

}  // namespace hone
