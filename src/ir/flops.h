// Predicted arithmetic of a node.
#pragma once

#include "ir/graph.h"

namespace hone {

// FLOP of one evaluation; 0 where the shapes are not constant. By the op's rule; a pointwise op counts one per result
// element and instruction of its expression; ops that only move data count 0.
double node_flops(const Graph& graph, NodeId node);

}  // namespace hone
