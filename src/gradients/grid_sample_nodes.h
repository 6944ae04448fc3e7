// grid_sample as arithmetic on coordinates, gathers of rows of channels and weighted sums: what it is compiled as, and
// what its gradient follows back. Coordinates are f64, as in the op's evaluation, so that positions are the same.
#pragma once

#include "base/error.h"
#include "ir/graph.h"

namespace hone {

Support grid_sample_in_nodes(const Graph& graph, const Node& node);

// The result of a node that is supported, as further nodes.
ValueId grid_sample_nodes(Graph& graph, const Node& node);

}  // namespace hone
