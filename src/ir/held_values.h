// Parameters and state of a graph, for those who run or write graphs that have none.
#pragma once

#include "ir/graph.h"

namespace hone {

// What a trained model is when it is only run: parameters are constants. Error where the graph keeps state; updates of
// parameters go.
Graph with_constant_parameters(Graph graph);

}  // namespace hone
