// Parameters and state of a graph, for those who run or write graphs that have none.
#pragma once

#include "ir/graph.h"

namespace hone {

// What a trained model is when it is only run: parameters are constants. Error where the graph keeps state; updates of
// parameters go.
Graph with_constant_parameters(Graph graph);

// For formats whose graphs keep nothing: state is an argument of its name, behind the others, and its update an output
// NAME.next, behind the others, which callers give to the next run. What state begins as is theirs, too.
Graph with_state_as_arguments(Graph graph);

}  // namespace hone
