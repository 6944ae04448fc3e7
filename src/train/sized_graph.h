// Graphs with gradients, of models that leave sizes open. Whether an operand was broadcast, where a slice ends and what
// a resize reads decide what a gradient is. Where a model does not say, the sizes of the data do: then a graph is made
// for these sizes, and one more for the next.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ir/graph.h"

namespace hone {

// The graph with symbols bound, as many as there are sizes, and what follows from them evaluated. Inputs and outputs
// keep their labels; ids change.
Graph with_sizes(const Graph& graph, const Bindings& sizes);

// What the symbols of the graph's arguments are for these tensors, by label; others may be among them. Throws Error for
// one that does not fit.
Bindings sizes_of(const Graph& graph, const std::map<std::string, Tensor>& inputs);

struct SizedGraph {
  Graph graph;
  Bindings sizes;  // those that it holds for alone; none: it is for all
};

// What `make`, which throws Error where a gradient needs sizes, makes of the model: for all sizes, if it can; with all
// sizes but the numbers of rows; with all. `sizes` gives those of the model's arguments, and is asked only then; empty:
// they are not known. Throws the last Error.
SizedGraph make_sized(const Graph& model, const std::function<Graph(Graph)>& make,
                      const std::function<Bindings()>& sizes);

}  // namespace hone
